package agenttools_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// past is the logs of some conversations.
type past struct {
	records map[sessions.Key][]sessions.Record
	read    int // records handed out
	err     error
}

func (p *past) History(_ context.Context, key sessions.Key, after sessions.Revision) iter.Seq2[sessions.Record, error] {
	return func(yield func(sessions.Record, error) bool) {
		if p.err != nil {
			yield(sessions.Record{}, p.err)
			return
		}
		for _, r := range p.records[key] {
			if r.Revision > after {
				if p.read++; !yield(r, nil) {
					return
				}
			}
		}
	}
}

// say appends entries to the past of a conversation, a record each.
func (p *past) say(key sessions.Key, entries ...sessions.Entry) {
	for _, e := range entries {
		n := len(p.records[key])
		p.records[key] = append(p.records[key], sessions.Record{
			Revision: sessions.Revision(n + 1), At: time.Date(2026, 3, 1, 12, n%60, 0, 0, time.UTC), Entries: []sessions.Entry{e},
		})
	}
}

func person(text string) sessions.Entry {
	return sessions.UserMessage{Turn: "t0", Message: sessions.Message{Role: sessions.RoleUser, Text: text}}
}

func assistant(text string, calls ...sessions.ToolCall) sessions.Entry {
	return sessions.AssistantMessage{Turn: "t0", Message: sessions.Message{Role: sessions.RoleAssistant, Text: text, ToolCalls: calls}}
}

func result(call, text string) sessions.Entry {
	return sessions.ToolResult{Turn: "t0", Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: call, Text: text}}
}

func newPast() *past {
	p := &past{records: map[sessions.Key][]sessions.Record{}}
	p.say("p/a/dm/1",
		person("Please deploy the billing service to staging."),
		assistant("", sessions.ToolCall{ID: "c1", Name: "terminal", Arguments: "{}"}),
		result("c1", "error: certificate of billing.example expired"),
		assistant("The deployment failed: the certificate has expired."),
		sessions.Compaction{Checkpoint: sessions.Checkpoint{Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "certificate certificate certificate"}}}},
		person("数据库连接池的上限是多少？"),
		assistant("连接池的上限是五十个连接。"),
		sessions.Reset{By: "alice"},
		person("東京への出張を予約してください。"),
		assistant("新幹線を予約しました。"),
		person("회의 일정을 내일로 옮겨 주세요"),
		assistant("회의를 옮겼습니다."),
		person("ホテルをキャンセルしたいです。"),
		assistant("キャンセルしました。"),
		person("駅までのタクシーは？"),
		assistant("十時に来ます。"),
		person("Thanks, what is the weather?"),
		assistant("Sunny."),
	)
	p.say("p/a/dm/2", person("The secret certificate of somebody else."))
	return p
}

func TestSearch(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		first string // the line of the best match
		has   []string
		not   []string
	}{
		"a word":           {"certificate", "> assistant: The deployment failed: the certificate has expired.", []string{"another session", "terminal: error: certificate"}, []string{"secret", "certificate certificate"}},
		"other beginnings": {"deploy", "> person: Please deploy the billing", []string{"assistant: The deployment failed"}, nil},
		"several words":    {"billing expired", "> ", []string{"certificate of billing.example expired"}, nil},
		"capitals":         {"STAGING", "> person: Please deploy the billing", nil, nil},
		"chinese":          {"连接池上限", "> ", []string{"连接池的上限是五十个连接", "数据库连接池的上限是多少"}, []string{"新幹線"}},
		"one character":    {"池", "> ", []string{"连接池的上限"}, nil},
		"japanese":         {"出張", "> person: 東京への出張を予約してください。", []string{"this session", "assistant: 新幹線を予約しました。"}, []string{"连接池"}},
		"kana":             {"してください", "> person: 東京への出張を予約してください。", nil, []string{"연"}},
		"kana and kanji":   {"予約しました", "> assistant: 新幹線を予約しました。", []string{"東京への出張を予約してください"}, nil},
		"katakana":         {"ホテルのキャンセル", "> person: ホテルをキャンセルしたいです。", []string{"キャンセルしました"}, []string{"ドル"}},
		"one kanji":        {"駅", "> person: 駅までのタクシーは？", nil, nil},
		"no such japanese": {"地震", "Nothing was found.", nil, nil},
		"korean words":     {"일정을 내일", "> person: 회의 일정을 내일로 옮겨 주세요", []string{"assistant: 회의를 옮겼습니다"}, nil},
		"korean particles": {"회의가", "> ", []string{"회의를 옮겼습니다"}, nil},
		"korean ending":    {"옮겼다", "> assistant: 회의를 옮겼습니다.", nil, nil},
		"no such korean":   {"지진", "Nothing was found.", nil, nil},
		"korean":           {"회의", "> ", []string{"회의를 옮겼습니다", "회의 일정을"}, nil},
		"nothing":          {"submarine", "Nothing was found.", nil, nil},
		"no word":          {" ?! ", "The query has no word in it.", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, must(agenttools.NewSearch(newPast()).Tools()))
			got := r.turn(modeltest.Call("session_search", fmt.Sprintf(`{"query":%q}`, c.query)))[0]
			first := got
			if i := strings.Index(got, "\n> "); i >= 0 {
				first = got[i+1:]
			}
			if !strings.HasPrefix(first, c.first) {
				t.Errorf("the best match is not %q:\n%s", c.first, got)
			}
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing:\n%s", want, got)
				}
			}
			for _, want := range c.not {
				if strings.Contains(got, want) {
					t.Errorf("%q is there:\n%s", want, got)
				}
			}
		})
	}
}

func TestSearchReadsTheLogOnce(t *testing.T) {
	p := newPast()
	r := newRig(t, must(agenttools.NewSearch(p).Tools()))
	r.turn(modeltest.Call("session_search", `{"query":"weather"}`), modeltest.Call("session_search", `{"query":"staging"}`))
	if n := len(p.records["p/a/dm/1"]); p.read != n+2 { // and each search looks whether the log still begins as it did
		t.Errorf("%d records were read for two searches in %d", p.read, n)
	}
	p.say("p/a/dm/1", person("A walrus came by."))
	if got := r.turn(modeltest.Call("session_search", `{"query":"walrus"}`)); !strings.Contains(got[0], "A walrus came by.") {
		t.Errorf("what was said since is not found: %q", got)
	}
}

func TestSearchStaysInItsConversation(t *testing.T) {
	r := newRig(t, must(agenttools.NewSearch(newPast()).Tools()))
	for query, mine := range map[string]bool{"secret": false, "somebody": false, "expired": true} {
		got := r.turn(modeltest.Call("session_search", fmt.Sprintf(`{"query":%q,"limit":20}`, query)))[0]
		if found := !strings.Contains(got, "Nothing was found"); found != mine {
			t.Errorf("%q: %s", query, got)
		}
	}
	if got := r.turn(modeltest.Call("session_search", `{"query":"secret","session_id":"p/a/dm/2"}`))[0]; !strings.Contains(got, "there is no such argument") {
		t.Errorf("another conversation could be named: %s", got)
	}
	r.scope.Conversation = "p/a/dm/2"
	if got := r.turn(modeltest.Call("session_search", `{"query":"expired"}`))[0]; !strings.Contains(got, "Nothing was found") {
		t.Errorf("the other conversation sees this one: %s", got)
	}
}

func TestSearchLimits(t *testing.T) {
	p := newPast()
	for i := range 100 {
		p.say("p/a/dm/1", person(fmt.Sprintf("walrus number %d %s", i, strings.Repeat("and more ", 300))), assistant("yes"), assistant("no"), assistant("perhaps"), assistant("well"))
	}
	r := newRig(t, must(agenttools.NewSearch(p).Tools()))
	got := r.turn(modeltest.Call("session_search", `{"query":"walrus","limit":3}`))[0]
	if !strings.Contains(got, "100 messages found; 3 shown") || strings.Count(got, "\n> ") != 3 || len(got) > 6000 {
		t.Errorf("%d bytes: %.2000s", len(got), got)
	}
	if got := r.turn(modeltest.Call("session_search", `{"query":"walrus","limit":21}`))[0]; !strings.Contains(got, "out of range") {
		t.Errorf("limit 21: %s", got)
	}
	p.err = errors.New("the disk is gone")
	if got := r.turn(modeltest.Call("session_search", `{"query":"walrus"}`))[0]; !strings.Contains(got, "the disk is gone") {
		t.Errorf("an unreadable log: %s", got)
	}
}
