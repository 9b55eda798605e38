package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

var (
	tagged = regexp.MustCompile(`(?s)<(notes|keep|transcript)>\n(.*?)\n?</(?:notes|keep|transcript)>`)
	fact   = regexp.MustCompile(`FACT-[A-Z]+-\d+ is \d+`)
)

// forgetful writes notes as a model does that loses, by chance, a tenth of what it is not told to keep: of the notes so far,
// and of what it sees in a transcript for the first time. An obedient one brings back what stands between the keep tags, a
// careless one loses a tenth of that, too.
type forgetful struct {
	*modeltest.Model
	careless bool
	chance   *rand.Rand
	put      map[string]bool // the facts that it has put down once
}

func (f *forgetful) Call(_ context.Context, req loop.Request, _ func(string)) (loop.Reply, error) {
	parts := map[string]string{}
	for _, m := range tagged.FindAllStringSubmatch(req.Messages[0].Text, -1) {
		parts[m[1]] = m[2]
	}
	kept := map[string]bool{}
	for line := range strings.Lines(parts["keep"]) {
		kept[strings.TrimSpace(line)] = true
	}
	var facts []string
	take := func(line string, safe bool) {
		if safe || f.chance.IntN(10) > 0 {
			facts = append(facts, line)
		}
	}
	for line := range strings.Lines(parts["notes"]) {
		if line = strings.TrimSpace(line); strings.Contains(line, "FACT") {
			take(line, kept[line] && !f.careless)
		}
	}
	for _, found := range fact.FindAllString(parts["transcript"], -1) {
		take("- "+found, false)
	}
	for _, line := range facts {
		f.put[fact.FindString(line)] = true
	}
	text := "## Goal\nfind out\n## Facts to keep\n" + strings.Join(facts, "\n") + "\n## Open requests\nnone"
	return loop.Reply{Message: assistant(text), Finish: loop.FinishStop}, nil
}

// TestFactsSurviveTenCompressions: facts in the middle of the history are still there after ten compressions by a model that
// forgets a tenth each time: whatever people said, whether the model put it down or not, and what tools said if it put that
// down once. What it never put down stays in the log, where the search finds it.
func TestFactsSurviveTenCompressions(t *testing.T) {
	for seed := range uint64(6) {
		careless := seed%2 == 1
		t.Run(fmt.Sprintf("chance %d, careless %v", seed, careless), func(t *testing.T) {
			j := talk(t, 5, 4000)
			var planted []string
			say := func(who string, i int) string {
				planted = append(planted, fmt.Sprintf("FACT-%s-%d is %d", who, i, 1000+i*7))
				return planted[len(planted)-1]
			}
			for i := range 12 {
				turn := fmt.Sprintf("fact%d", i)
				j.open(turn, "By the way: "+say("PERSON", i)+".")
				j.must(
					sessions.AssistantMessage{Turn: turn, Message: sessions.Message{
						Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call("c", "read", fmt.Sprintf(`{"path":"conf/%d.toml"}`, i))},
					}},
					sessions.ToolResult{Turn: turn, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "c", Text: "it says " + say("TOOL", i)}},
					sessions.AssistantMessage{Turn: turn, Message: assistant("noted")}, sessions.TurnEnded{Turn: turn})
			}
			model := &forgetful{Model: modeltest.New(), careless: careless, chance: rand.New(rand.NewPCG(seed, 0)), put: map[string]bool{}}
			c := loop.NewCompressor(model, 40_000, 0)
			for i := range 10 {
				for k := range 8 {
					turn := fmt.Sprintf("more%d-%d", i, k)
					j.open(turn, fmt.Sprintf("question %d of round %d", k, i))
					j.must(sessions.AssistantMessage{Turn: turn, Message: assistant(strings.Repeat("many words ", 500))}, sessions.TurnEnded{Turn: turn})
				}
				if out := compress(t, c, j); out.After > 12_000 || !out.Summary {
					t.Fatalf("compression %d: %d tokens", i, out.After)
				}
			}
			summary := j.s.Messages[2].Text
			unseen := 0
			for _, f := range planted {
				switch known := strings.Contains(f, "PERSON") || model.put[f]; {
				case !known:
					unseen++
				case !strings.Contains(summary, f):
					t.Errorf("lost: %s", f)
				}
			}
			if unseen > len(planted)/3 {
				t.Errorf("%d of %d facts were never put down, which shows nothing", unseen, len(planted))
			}
			for i := range 12 {
				if file := fmt.Sprintf("conf/%d.toml", i); !strings.Contains(summary, file) {
					t.Errorf("lost: %s", file)
				}
			}
			if t.Failed() {
				t.Log(summary)
			}
		})
	}
}

// TestNotesCanBeWithdrawn: a line that the model calls obsolete does not come back, one that it forgot does.
func TestNotesCanBeWithdrawn(t *testing.T) {
	j := talk(t, 20, 4000)
	m := modeltest.New(
		modeltest.Text("## Decisions\n- use port 80\n- use TLS\n## Facts to keep\nnone"),
		modeltest.Text("## Goal\nserve\n## Facts to keep\n- port 8443 is free\n## Obsolete\n- Use port 80."))
	c := loop.NewCompressor(m, 40_000, 0)
	compress(t, c, j)
	for i := range 10 {
		turn := fmt.Sprintf("more%d", i)
		j.open(turn, "more")
		j.must(sessions.AssistantMessage{Turn: turn, Message: assistant(strings.Repeat("words ", 800))}, sessions.TurnEnded{Turn: turn})
	}
	compress(t, c, j)
	text := j.s.Messages[2].Text
	for word, want := range map[string]bool{"- use TLS": true, "port 8443": true, "port 80\n": false, "Obsolete": false, "Use port 80.": false, "- more": true} {
		if strings.Contains(text, word) != want {
			t.Errorf("%q: want %v in\n%s", word, want, text)
		}
	}
}

// TestWhatPeopleMarkStaysLongest when there is not room for all that they said.
func TestWhatPeopleMarkStaysLongest(t *testing.T) {
	j := talk(t, 3, 4000)
	for i := range 400 {
		turn := fmt.Sprintf("chat%d", i)
		text := fmt.Sprintf("chatter number %d %s", i, strings.Repeat("and so on ", 12))
		switch i {
		case 20:
			text = "Remember: the cat is called Mia."
		case 21:
			text = strings.Repeat("a long story ", 60) + ". 记住我的生日是五月一日。" + strings.Repeat(" and more", 60)
		}
		j.open(turn, text)
		j.must(sessions.AssistantMessage{Turn: turn, Message: assistant("ok")}, sessions.TurnEnded{Turn: turn})
	}
	compress(t, loop.NewCompressor(modeltest.New(modeltest.Text("## Goal\ntalk")), 100_000, 0), j)
	text := j.s.Messages[2].Text
	if !strings.Contains(text, "called Mia") || !strings.Contains(text, "记住我的生日") || !strings.Contains(text, "earlier ones left out") {
		t.Errorf("summary:\n%s", text)
	}
	if strings.Contains(text, "chatter number 25 ") {
		t.Error("everything is kept")
	}
}

// TestFocus: what a person wants to be kept reaches the summariser.
func TestFocus(t *testing.T) {
	m := modeltest.New(modeltest.Text(notes))
	if _, err := loop.NewCompressor(m, 40_000, 0).Compress(t.Context(), talk(t, 30, 4000).s, loop.Aim{Focus: "the needle's colour"}); err != nil {
		t.Fatal(err)
	}
	if question := m.Requests()[0].Messages[0].Text; !strings.Contains(question, "<focus>\nthe needle's colour\n</focus>") {
		t.Errorf("question: %.500s", question)
	}
}

// TestSummariesHoldNoSecrets, nor does what the summarising model sees.
func TestSummariesHoldNoSecrets(t *testing.T) {
	secrets := []string{
		"sk-abcdefghijklmnop1234", "hunter2hunter2", "AKIAABCDEFGHIJKLMNOP", "ghp_abcdefghijklmnopqrstuvwxyz012345", "s3cretpass", "geheim99", "known-to-us",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
	}
	j := talk(t, 30, 4000)
	turn := "secret"
	j.open(turn, "my password: hunter2hunter2, das Passwort ist geheim99, the key "+secrets[0]+" and "+secrets[2])
	j.must(sessions.AssistantMessage{Turn: turn, Message: assistant("I use " + secrets[3] + " and postgres://me:s3cretpass@db/x and known-to-us\n" + secrets[7])}, sessions.TurnEnded{Turn: turn})
	for i := range 12 {
		turn := fmt.Sprintf("more%d", i)
		j.open(turn, "more")
		j.must(sessions.AssistantMessage{Turn: turn, Message: assistant(strings.Repeat("words ", 800))}, sessions.TurnEnded{Turn: turn})
	}
	m := modeltest.New(modeltest.Text("## Facts to keep\n- the key is " + secrets[0] + "\n- api_key=" + secrets[1]))
	c := loop.NewCompressor(m, 40_000, 0)
	c.Redact = func(text string) string { return strings.ReplaceAll(text, "known-to-us", "[known]") }
	compress(t, c, j)
	question := m.Requests()[0].Messages[0].Text
	if !strings.Contains(question, "I use") {
		t.Fatal("the summariser does not see the turn with the secrets")
	}
	for _, secret := range secrets {
		if strings.Contains(question, secret) {
			t.Errorf("the summariser sees %q", secret)
		}
		if strings.Contains(j.s.Messages[2].Text, secret) {
			t.Errorf("the summary holds %q", secret)
		}
	}
	if strings.Contains(question, "MIIabc") {
		t.Error("the summariser sees a private key")
	}
}
