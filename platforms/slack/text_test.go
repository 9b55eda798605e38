package slack

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestRead(t *testing.T) {
	r := reader{bot: "UBOT", name: "talaria"}
	for raw, want := range map[string]reading{
		"":                                    {},
		"plain":                               {text: "plain"},
		"cpu &gt; 80% &amp;&amp; ok":          {text: "cpu > 80% && ok"},
		"&amp;lt; &amp;amp;":                  {text: "&lt; &amp;"},
		"&lt;@UBOT&gt; &quot;":                {text: "<@UBOT> &quot;"},
		"<@UBOT> hello":                       {text: "hello", mentioned: true},
		"<@UBOT|talaria>: hello":              {text: "hello", mentioned: true},
		"  <@UBOT>,<@UBOT> twice":             {text: "twice", mentioned: true},
		"<@UBOT>":                             {mentioned: true},
		"ask <@UBOT> now":                     {text: "ask @talaria now", mentioned: true},
		"<@UBOTTOM> hello":                    {text: "@UBOTTOM hello", other: true},
		"<@U1> and <@U2|bob>":                 {text: "@U1 and @bob", other: true},
		"<@U1> and <@UBOT>":                   {text: "@U1 and @talaria", mentioned: true},
		"<!subteam^S1|@team> <!subteam^S2>":   {text: "@team @S2", other: true},
		"<!here> <!channel|@channel>":         {text: "@here @channel"},
		"<#C1|general> <#C2> <#C3|>":          {text: "#general #C2 #C3"},
		"<https://e.test/a_b?c=1&amp;d=2>":    {text: "https://e.test/a_b?c=1&d=2"},
		"<http://e.test|e.test>":              {text: "e.test"},
		"<https://e.test/x|the &lt;x&gt;>":    {text: "the <x> (https://e.test/x)"},
		"<mailto:a@e.test|a@e.test>":          {text: "a@e.test"},
		"<!date^1^{date_short}|1 Jan> <!x^1>": {text: "1 Jan @x^1"},
		"a < b <unclosed":                     {text: "a < b <unclosed"},
		"<> <|x>":                             {text: "<> x"},
		"`<https://e.test>` *bold*":           {text: "`https://e.test` *bold*"},
	} {
		if got := r.read(raw); got != want {
			t.Errorf("read(%q) = %+v, want %+v", raw, got, want)
		}
	}
}

// Whatever a person types, escaped as Slack escapes it, reads as it was typed.
func TestReadUndoesEscaping(t *testing.T) {
	r := reader{bot: "UBOT", name: "talaria"}
	rapid.Check(t, func(t *rapid.T) {
		typed := strings.TrimSpace(rapid.StringOfN(rapid.RuneFrom([]rune("ab &<>;lgtamp@#!|^é\n")), 0, 60, -1).Draw(t, "typed"))
		if got := r.read(escape(typed)); got != (reading{text: typed}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\né")), 1, 200, -1).Draw(t, "text")
		limit := rapid.IntRange(12, 40).Draw(t, "limit")
		pieces := cut(text, limit, "")
		for _, p := range pieces {
			if n := utf8.RuneCountInString(p); n == 0 || n > limit {
				t.Errorf("a piece of %d characters", n)
			}
		}
		if strings.Join(pieces, "") != text {
			t.Errorf("%q became %q", text, pieces)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n")), 1, 200, -1).Draw(t, "code")
		for _, p := range cut("before\n```\n"+code+"\n```\nafter", 40, "```") {
			if n := utf8.RuneCountInString(p); n > 40 {
				t.Errorf("a piece of %d characters", n)
			}
			if strings.Count(p, "```")%2 != 0 {
				t.Errorf("an open fence in %q", p)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("events_api", `{"event":{"type":"message","channel":"D1","user":"U1","text":"hi","ts":"1.2"}}`)
	f.Add("events_api", `{"event":{"type":"message","subtype":"message_changed","channel":"C1","message":{"text":"x","ts":"1.2","user":"U1","edited":{"ts":"2.1"}}}}`)
	f.Add("events_api", `{"event":{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1.2","ts":"3.4"}}`)
	f.Add("slash_commands", `{"channel_id":"C1","user_id":"U1","text":"status"}`)
	f.Add("interactive", `{"type":"block_actions","user":{"id":"U1"},"container":{"channel_id":"C1","message_ts":"1.1"},"actions":[{"type":"button","action_id":"talaria_0_0","value":"v"}]}`)
	d := decoder{team: "T1", bot: "UBOT", text: reader{bot: "UBOT", name: "talaria"}}
	f.Fuzz(func(t *testing.T, kind, payload string) {
		e := envelope{ID: "e", Type: kind, Payload: []byte(payload)}
		got := d.decode(e)
		if got.update == nil {
			return
		}
		o := originOf(got.update)
		if got.unknown != "" || got.update.NativeID() == "" || o.Address.Chat == "" {
			t.Errorf("decoded %+v with origin %+v", got, o)
		}
		if kind == "events_api" && o.Sender.ID == "UBOT" {
			t.Errorf("one of our own messages came through: %+v", got.update)
		}
		if again := d.decode(e); again.update.NativeID() != got.update.NativeID() {
			t.Errorf("ids %s and %s for one event", got.update.NativeID(), again.update.NativeID())
		}
	})
}
