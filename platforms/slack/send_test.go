package slack

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

func TestSendAndEdit(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		id := b.post(in(dm, ""), platforms.Outgoing{Text: "**bold** and `code` & <tags> <!channel>", Key: "k1"})
		m := b.last(dm)
		if m.ID != id || m.Visible != "bold and code & <tags> <!channel>" || m.User != sim.Bot || m.Thread != "" {
			t.Errorf("shown %+v", m)
		}
		if !strings.Contains(m.HTML, "<b>bold</b>") || !strings.Contains(m.HTML, "<code>code</code>") {
			t.Errorf("drawn %s", m.HTML)
		}
		with := platforms.Outgoing{Text: "now with a button", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop"}}}}
		for _, out := range []platforms.Outgoing{with, with, {Text: "and without"}} {
			if err := b.adapter.Edit(t.Context(), in(dm, ""), id, out); err != nil {
				t.Fatal(err)
			}
			if m := b.last(dm); m.Visible != out.Text || len(m.Buttons) != len(out.Buttons) || !m.Edited {
				t.Errorf("shown %+v", m)
			}
		}
		root := b.say(sim.Say{User: ada, Chat: room, Text: "hi"})
		b.post(in(room, root), platforms.Outgoing{Text: "in the thread"})
		if m := b.last(room); m.Thread != root {
			t.Errorf("posted in thread %q, want %q", m.Thread, root)
		}
	})
}

func TestPlainTextStandsAsItIs(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		const text = "*not bold* _nor this_ & <@U0BOB> <!channel>\n> no quote"
		id := b.post(in(dm, ""), platforms.Outgoing{Text: text, Plain: true})
		if m := b.last(dm); m.Visible != text {
			t.Errorf("posted as %q", m.Visible)
		}
		if err := b.adapter.Edit(t.Context(), in(dm, ""), id, platforms.Outgoing{Text: text, Plain: true}); err != nil {
			t.Fatal(err)
		}
		if m := b.last(dm); m.Visible != text {
			t.Errorf("edited to %q", m.Visible)
		}
	})
}

func TestLongTextWithButtons(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		for name, text := range map[string]string{
			"words": strings.Repeat("twelve words that fill a line without any other purpose at all\n", 60),
			"code":  "```\n" + strings.Repeat("x := compute(y)\n", 230) + "```",
			"one":   strings.Repeat("x", 3800),
		} {
			b.post(in(dm, ""), platforms.Outgoing{Text: text, Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop"}}}})
			m := b.last(dm)
			if len(m.Buttons) != 1 || strings.Contains(m.Visible, "```") {
				t.Errorf("%s: shown %+v", name, m)
			}
			squeeze := strings.NewReplacer("\n", "", "```", "").Replace
			if squeeze(m.Visible) != squeeze(text) {
				t.Errorf("%s: the text changed", name)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestErrorsHaveClasses(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		ctx, out := t.Context(), platforms.Outgoing{Text: "hello"}
		send := func(chat string, out platforms.Outgoing) error {
			_, err := b.adapter.Send(ctx, in(chat, ""), out)
			return err
		}
		wantClass(t, send("C0NOWHERE", out), platforms.Gone)
		wantClass(t, send(dm, platforms.Outgoing{Text: " \n"}), platforms.Invalid)
		wantClass(t, send(dm, platforms.Outgoing{Text: strings.Repeat("x", 5000)}), platforms.TooLong)
		wantClass(t, b.adapter.Edit(ctx, in(dm, ""), "1.000001", out), platforms.Gone)
		theirs := b.say(sim.Say{User: ada, Chat: dm, Text: "mine"})
		wantClass(t, b.adapter.Edit(ctx, in(dm, ""), theirs, out), platforms.Forbidden)
		if err := b.adapter.Delete(ctx, in(dm, ""), "1.000001"); err != nil {
			t.Errorf("deleting what is gone: %v", err)
		}
		b.sim.Archive(room)
		wantClass(t, send(room, out), platforms.Forbidden)
		b.sim.Kick(crowd)
		wantClass(t, send(crowd, out), platforms.Forbidden)
		for code, want := range map[string]platforms.Class{
			"invalid_blocks": platforms.BadFormat, "msg_too_long": platforms.TooLong, "token_revoked": platforms.Fatal,
			"fatal_error": platforms.OutcomeUnknown, "service_unavailable": platforms.Transient, "whatever": platforms.Invalid,
		} {
			b.sim.Faults().Add(sim.Fault{Method: "chat.postMessage", Error: code})
			wantClass(t, send(dm, out), want)
			time.Sleep(2 * time.Second)
		}
		for status, want := range map[int]platforms.Class{
			http.StatusBadGateway: platforms.OutcomeUnknown, http.StatusServiceUnavailable: platforms.Transient,
		} {
			b.sim.Faults().Add(sim.Fault{Method: "chat.postMessage", Status: status, HTML: true})
			wantClass(t, send(dm, out), want)
			time.Sleep(2 * time.Second)
		}
	})
}

func TestLostAnswers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		b.sim.Faults().Add(sim.Fault{Method: "chat.postMessage", Lose: true})
		_, err := b.adapter.Send(t.Context(), in(dm, ""), platforms.Outgoing{Text: "did it arrive?"})
		wantClass(t, err, platforms.OutcomeUnknown)
		shown := b.sim.Visible(dm)
		if len(shown) != 1 {
			t.Fatalf("%d messages, want exactly the one", len(shown))
		}
		b.sim.Faults().Add(sim.Fault{Method: "chat.update", Lose: true})
		err = b.adapter.Edit(t.Context(), in(dm, ""), shown[0].ID, platforms.Outgoing{Text: "edited"})
		wantClass(t, err, platforms.Transient)
		_ = b.net.Close()
		b.adapter.http.CloseIdleConnections()
		_, err = b.adapter.Send(t.Context(), in(dm, ""), platforms.Outgoing{Text: "nobody there"})
		wantClass(t, err, platforms.Transient)
	})
}

func TestRateLimitHoldsTheConversationAlone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		b.sim.Faults().Add(sim.Fault{Method: "chat.postMessage", Status: http.StatusTooManyRequests, RetryAfter: 20 * time.Second})
		start := time.Now()
		for range 3 { // refused by Slack, then by us
			_, err := b.adapter.Send(t.Context(), in(dm, ""), platforms.Outgoing{Text: "one"})
			wantClass(t, err, platforms.RateLimited)
			if wait := platforms.WaitOf(err); wait != 20*time.Second {
				t.Errorf("wait %v", wait)
			}
		}
		b.post(in(room, ""), platforms.Outgoing{Text: "elsewhere"})
		if waited := time.Since(start); waited != 0 {
			t.Errorf("another conversation waited %v", waited)
		}
		time.Sleep(19 * time.Second)
		b.post(in(dm, ""), platforms.Outgoing{Text: "two"})
		if waited := time.Since(start); waited != 20*time.Second {
			t.Errorf("posted again after %v", waited)
		}
	})
}

// Slack's limits must never be reached by a busy bot, however much it has to say.
func TestPaceStaysWithinSlacksLimits(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		id := ""
		for range 30 {
			id = b.post(in(dm, ""), platforms.Outgoing{Text: "more"})
		}
		for range 120 {
			if err := b.adapter.Edit(t.Context(), in(dm, ""), id, platforms.Outgoing{Text: "changed"}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestStatusAndReaction(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		root := b.say(sim.Say{User: ada, Chat: room, Text: "hi"})
		if err := b.adapter.Typing(t.Context(), in(room, root)); err != nil {
			t.Fatal(err)
		}
		if !b.sim.Typing(room, root) {
			t.Error("no status shows")
		}
		b.post(in(room, root), platforms.Outgoing{Text: "answer"})
		if b.sim.Typing(room, root) {
			t.Error("the status shows after the answer")
		}
		if err := b.adapter.Typing(t.Context(), in(dm, "")); err != nil {
			t.Errorf("a status at the top level: %v", err)
		}
		for _, emoji := range []string{"👀", ":eyes:", "white_check_mark"} {
			if err := b.adapter.React(t.Context(), in(room, root), root, emoji); err != nil {
				t.Errorf("react with %s: %v", emoji, err)
			}
		}
		if got := b.sim.Visible(room)[0].Reactions; len(got) != 2 || got[0] != "eyes" {
			t.Errorf("reactions %v", got)
		}
		wantClass(t, b.adapter.React(t.Context(), in(room, root), root, "🦄🦄"), platforms.Invalid)
	})
}
