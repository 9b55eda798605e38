package platformtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

type testCase struct {
	name string
	run  func(*testing.T, *running)
}

func cases() []testCase {
	return []testCase{
		{"a message arrives", arrives},
		{"messages of a chat keep their order", keepsOrder},
		{"a mention in a group is for the bot and can be answered", mentioned},
		{"talk in a group is not for the bot", notMentioned},
		{"a changed message arrives as an edit", editArrives},
		{"a failed commit is delivered again", redelivered},
		{"one event delivered twice has one native id", deliveredTwice},
		{"a formatted message is shown", sends},
		{"a blank text gives no piece", blankSplit},
		{"all pieces of a long text are accepted", splitAccepted},
		{"a too long text is refused as such", tooLong},
		{"plain text is shown as it stands", plainText},
		{"a message is edited in place", edits},
		{"an edit that changes nothing is a success", notModified},
		{"an edit of a vanished message says so", editGone},
		{"a message is deleted, also twice", deletes},
		{"a refused chat is forbidden", forbidden},
		{"a rate limit says how long to wait", rateLimited},
		{"a frozen chat does not hold the caller", frozenChat},
		{"a lost response leaves the outcome unknown", lostResponse},
		{"a lost response of an edit can be repeated", lostEdit},
		{"an unreachable platform is transient", unreachable},
		{"a button press arrives and its receipt is shown", pressed},
		{"a slow sink does not hold the acknowledgement", pressedSlow},
		{"typing is shown", typing},
		{"lost calls do not end the connection", survives},
		{"an ended adapter returns", ends},
		{"bad credentials end Run", fatal},
	}
}

func arrives(t *testing.T, r *running) {
	before := time.Now()
	id := r.say(t, "hello & <b>welcome</b>")
	got := r.accepted(5 * time.Second)
	if len(got) != 1 {
		t.Fatalf("the sink got %d updates, want 1: %v", len(got), got)
	}
	m, ok := got[0].(*platforms.Message)
	if !ok {
		t.Fatalf("the sink got a %T", got[0])
	}
	if m.Address != r.At || m.ID != id || m.Text != "hello & <b>welcome</b>" || m.Sender.ID != r.User || m.Kind != platforms.Direct {
		t.Errorf("message is %+v", m)
	}
	if !m.Mentioned || m.Sender.Bot || m.MentionsOther {
		t.Errorf("a direct message by a person is for the bot: %+v", m)
	}
	if at := m.At.Sub(before); at < -time.Second || at > 5*time.Second {
		t.Errorf("message has the time %v, was written at %v", m.At, before)
	}
	if alive, ok := r.Adapter.(platforms.Prober); ok && alive.LastAlive().IsZero() {
		t.Error("a connected adapter shows no sign of life")
	}
}

func keepsOrder(t *testing.T, r *running) {
	const n = 30
	for i := range n {
		r.say(t, fmt.Sprint("message ", i))
	}
	got := r.accepted(time.Minute)
	if len(got) != n {
		t.Fatalf("the sink got %d updates, want %d", len(got), n)
	}
	for i, u := range got {
		if text := u.(*platforms.Message).Text; text != fmt.Sprint("message ", i) {
			t.Fatalf("update %d is %q", i, text)
		}
	}
}

func mentioned(t *testing.T, r *running) {
	got := r.sayInGroup(t, sim.Say{Text: "what time is it?", Mention: true})
	if len(got) != 1 {
		t.Fatalf("the sink got %d messages, want 1: %v", len(got), got)
	}
	m := got[0]
	if !m.Mentioned || m.MentionsOther || m.Text != "what time is it?" || m.Kind == platforms.Direct || m.Sender.ID != r.User {
		t.Errorf("the mention is %+v", m)
	}
	id, err := r.Adapter.Send(t.Context(), m.Address, platforms.Outgoing{Text: "noon", ReplyTo: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range r.Stage.Visible(r.Group) {
		if shown.ID == id && shown.Visible == "noon" {
			return
		}
	}
	t.Errorf("the answer does not show in the group: %+v", r.Stage.Visible(r.Group))
}

func notMentioned(t *testing.T, r *running) {
	for _, m := range r.sayInGroup(t, sim.Say{Text: "lunch, anybody?"}) {
		if m.Mentioned {
			t.Errorf("small talk counts as addressed to the bot: %+v", m)
		}
	}
}

func editArrives(t *testing.T, r *running) {
	id := r.say(t, "first")
	time.Sleep(2 * time.Second)
	if err := r.Stage.EditAs(r.User, r.Chat, id, "second"); err != nil {
		t.Fatal(err)
	}
	got := r.accepted(5 * time.Second)
	if len(got) != 2 {
		t.Fatalf("the sink got %d updates, want 2", len(got))
	}
	e, ok := got[1].(*platforms.MessageEdited)
	if !ok || e.ID != id || e.Text != "second" || e.Sender.ID != r.User {
		t.Errorf("second update is %#v", got[1])
	}
	if got[0].NativeID() == got[1].NativeID() {
		t.Errorf("message and edit share the native id %q", got[0].NativeID())
	}
}

func redelivered(t *testing.T, r *running) {
	failures := 2
	r.onUpdate(func(platforms.Update) (platforms.Receipt, error) {
		if failures > 0 {
			failures--
			return platforms.Receipt{}, errors.New("the store is full")
		}
		return platforms.Receipt{}, nil
	})
	r.say(t, "one")
	r.say(t, "two")
	got := r.accepted(10 * time.Minute)
	var texts []string
	seen := map[string]bool{}
	for _, u := range got {
		if !seen[u.NativeID()] {
			texts = append(texts, u.(*platforms.Message).Text)
		}
		seen[u.NativeID()] = true
	}
	if strings.Join(texts, " ") != "one two" {
		t.Errorf("accepted after the failures: %q, want one and two in order", texts)
	}
}

func deliveredTwice(t *testing.T, r *running) {
	r.Stage.Faults().Events.Duplicate(1)
	r.say(t, "once")
	got := r.accepted(time.Minute)
	if len(got) != 2 || got[0].NativeID() != got[1].NativeID() {
		t.Errorf("duplicate gave %v, want two updates of one native id", got)
	}
	r.say(t, "once")
	if all := r.accepted(time.Minute); len(all) != 3 || all[2].NativeID() == got[0].NativeID() {
		t.Errorf("another message with the same text must have an id of its own: %v", all)
	}
}

func sends(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{
		Text: "some **bold** and `a < b & c` _here_", Silent: true, Key: "key-1",
		Buttons: [][]platforms.Button{{{Label: "Yes", Data: "y:1"}, {Label: "No", Data: "n:1", Danger: true}}},
	})
	mine := r.mine()
	if len(mine) != 1 {
		t.Fatalf("the bot shows %d messages, want 1", len(mine))
	}
	m := mine[0]
	if m.ID != id || m.Visible != "some bold and a < b & c here" {
		t.Errorf("message %q shows %q", m.ID, m.Visible)
	}
	if len(m.Buttons) != 1 || len(m.Buttons[0]) != 2 || m.Buttons[0][1] != (sim.Button{Label: "No", Data: "n:1"}) {
		t.Errorf("buttons are %v", m.Buttons)
	}
}

func blankSplit(t *testing.T, r *running) {
	if pieces := r.Adapter.Split(" \n\t\n"); len(pieces) != 0 {
		t.Errorf("a blank text gives %q", pieces)
	}
}

func splitAccepted(t *testing.T, r *running) {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "## Part %d\n\nWith *some* <text> & **more** of it, 😀 and é, `code` and [a link](https://example.com/a_b?c=%d).\n\n", i, i)
	}
	b.WriteString("```go\n" + strings.Repeat("func f() { return \"a < b && c\" }\n", 300) + "```\n")
	pieces := r.Adapter.Split(b.String())
	if len(pieces) < 2 {
		t.Fatalf("%d bytes give %d pieces", b.Len(), len(pieces))
	}
	for i, piece := range pieces {
		if _, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: piece}); err != nil {
			t.Fatalf("piece %d of %d (%d bytes): %v", i+1, len(pieces), len(piece), err)
		}
	}
	if n := len(r.mine()); n != len(pieces) {
		t.Errorf("%d messages show for %d pieces", n, len(pieces))
	}
}

func tooLong(t *testing.T, r *running) {
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: strings.Repeat("long ", 10_000), Plain: true})
	wantClass(t, "50,000 characters", err, platforms.TooLong)
	if n := len(r.mine()); n != 0 {
		t.Errorf("%d messages show after the refusal", n)
	}
}

func plainText(t *testing.T, r *running) {
	const text = "2 * 3 * 4 < 25 & `x` <b>y</b>"
	r.send(t, platforms.Outgoing{Text: text, Plain: true})
	if m := r.mine()[0]; m.Visible != text {
		t.Errorf("plain text shows as %q", m.Visible)
	}
}

func edits(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "one", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "s"}}}})
	if err := r.Adapter.(platforms.Editor).Edit(t.Context(), r.At, id, platforms.Outgoing{Text: "**two**"}); err != nil {
		t.Fatal(err)
	}
	mine := r.mine()
	if len(mine) != 1 || mine[0].ID != id || mine[0].Visible != "two" || !mine[0].Edited || len(mine[0].Buttons) != 0 {
		t.Errorf("after the edit the bot shows %+v", mine)
	}
}

func notModified(t *testing.T, r *running) {
	out := platforms.Outgoing{Text: "same", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "s"}}}}
	id := r.send(t, out)
	if err := r.Adapter.(platforms.Editor).Edit(t.Context(), r.At, id, out); err != nil {
		t.Errorf("an edit that changes nothing: %v", err)
	}
}

func editGone(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "short-lived"})
	if err := r.Adapter.(platforms.Deleter).Delete(t.Context(), r.At, id); err != nil {
		t.Fatal(err)
	}
	err := r.Adapter.(platforms.Editor).Edit(t.Context(), r.At, id, platforms.Outgoing{Text: "too late"})
	wantClass(t, "edit of a deleted message", err, platforms.Gone)
}

func deletes(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "short-lived"})
	for i := range 2 {
		if err := r.Adapter.(platforms.Deleter).Delete(t.Context(), r.At, id); err != nil {
			t.Fatalf("deletion %d: %v", i+1, err)
		}
	}
	if n := len(r.mine()); n != 0 {
		t.Errorf("%d messages still show", n)
	}
}

func forbidden(t *testing.T, r *running) {
	if r.Forbid == nil {
		t.Skip("this platform's simulator refuses no chat for good")
	}
	r.Forbid()
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: "anybody there?"})
	wantClass(t, "message to a closed chat", err, platforms.Forbidden)
}

func rateLimited(t *testing.T, r *running) {
	r.Stage.Faults().Add(sim.Fault{Method: r.Send, Status: http.StatusTooManyRequests, RetryAfter: 17 * time.Second})
	start := time.Now()
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: "hello", Key: "key-1"})
	wantClass(t, "flooded", err, platforms.RateLimited)
	if wait := platforms.WaitOf(err); wait < 17*time.Second || wait > 20*time.Second {
		t.Errorf("the error says to wait %v, the platform said 17s", wait)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the wait was slept out on the caller's goroutine: %v", took)
	}
	time.Sleep(platforms.WaitOf(err))
	r.send(t, platforms.Outgoing{Text: "hello", Key: "key-1"})
}

func frozenChat(t *testing.T, r *running) {
	r.Stage.Faults().Add(sim.Fault{Method: r.Send, Status: http.StatusTooManyRequests, RetryAfter: 5000 * time.Second})
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: "hello", Key: "key-1"})
	wantClass(t, "flooded", err, platforms.RateLimited)
	time.Sleep(time.Minute)
	start := time.Now()
	_, err = r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: "hello", Key: "key-1"})
	wantClass(t, "still frozen", err, platforms.RateLimited)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the second attempt was held for %v", took)
	}
	if wait := platforms.WaitOf(err); wait < 4900*time.Second {
		t.Errorf("after a minute of 5000 s the wait left is %v", wait)
	}
}

func lostResponse(t *testing.T, r *running) {
	r.Stage.Faults().Add(sim.Fault{Method: r.Send, Lose: true})
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: "did it arrive?", Key: "key-1"})
	wantClass(t, "lost response", err, platforms.OutcomeUnknown)
	if n := len(r.mine()); n != 1 {
		t.Errorf("%d messages show: the adapter must not repeat a message of unknown fate", n)
	}
}

func lostEdit(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "one"})
	r.Stage.Faults().Add(sim.Fault{Method: r.Edit, Lose: true})
	edit := r.Adapter.(platforms.Editor).Edit
	wantClass(t, "lost response", edit(t.Context(), r.At, id, platforms.Outgoing{Text: "two"}), platforms.Transient)
	if err := edit(t.Context(), r.At, id, platforms.Outgoing{Text: "two"}); err != nil {
		t.Errorf("the repetition: %v", err)
	}
	if m := r.mine()[0]; m.Visible != "two" {
		t.Errorf("the message shows %q", m.Visible)
	}
}

func unreachable(t *testing.T, r *running) {
	r.Stage.Faults().Add(sim.Fault{Method: r.Send, Status: http.StatusServiceUnavailable, HTML: true})
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: "hello", Key: "key-1"})
	wantClass(t, "503 page", err, platforms.Transient)
	if n := len(r.mine()); n != 0 {
		t.Errorf("%d messages show", n)
	}
}

func pressed(t *testing.T, r *running) {
	r.onUpdate(func(u platforms.Update) (platforms.Receipt, error) {
		return platforms.Receipt{Note: "stopping"}, nil
	})
	id := r.send(t, platforms.Outgoing{Text: "working", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop:42"}}}})
	shown, err := r.Stage.Press(r.User, r.Chat, id, "stop:42")
	if err != nil {
		t.Fatal(err)
	}
	got := r.accepted(2 * time.Second)
	if len(got) != 1 {
		t.Fatalf("the sink got %d updates, want 1", len(got))
	}
	b, ok := got[0].(*platforms.ButtonPressed)
	if !ok || b.Data != "stop:42" || b.MessageID != id || b.Sender.ID != r.User || b.Address != r.At || b.Kind != platforms.Direct {
		t.Errorf("the press is %#v", got[0])
	}
	select {
	case note := <-shown:
		if note != "stopping" {
			t.Errorf("the person sees %q, want the receipt's note", note)
		}
	default:
		t.Error("the press was not acknowledged")
	}
}

func pressedSlow(t *testing.T, r *running) {
	release := make(chan struct{})
	r.onUpdate(func(platforms.Update) (platforms.Receipt, error) {
		<-release
		return platforms.Receipt{Note: "too late to be seen"}, nil
	})
	id := r.send(t, platforms.Outgoing{Text: "working", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop:42"}}}})
	shown, err := r.Stage.Press(r.User, r.Chat, id, "stop:42")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2500 * time.Millisecond)
	synctest.Wait()
	select {
	case note := <-shown:
		if note != "" {
			t.Errorf("the person sees %q", note)
		}
	default:
		t.Error("the press was not acknowledged within 2.5 s of a busy sink")
	}
	close(release)
	if got := r.accepted(5 * time.Second); len(got) == 0 {
		t.Error("the press was acknowledged but never accepted")
	}
}

func typing(t *testing.T, r *running) {
	typer, ok := r.Adapter.(platforms.Typer)
	if !ok {
		t.Skip("no typing indicator")
	}
	at, id := r.At, r.say(t, "hello")
	if r.TypingAt != nil {
		at = r.TypingAt(id)
	}
	time.Sleep(time.Second)
	if err := typer.Typing(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if !r.Stage.Typing(r.Chat, at.Thread) {
		t.Fatal("typing does not show")
	}
	time.Sleep(r.Adapter.Limits().TypingFor + time.Second)
	if r.Stage.Typing(r.Chat, at.Thread) {
		t.Error("typing shows longer than Limits say")
	}
}

func survives(t *testing.T, r *running) {
	r.Stage.Faults().Add(sim.Fault{Status: http.StatusBadGateway, HTML: true, Times: 2})
	r.Stage.Faults().Add(sim.Fault{Cut: true, Times: 2})
	time.Sleep(5 * time.Minute)
	r.Stage.Faults().Clear()
	r.say(t, "still there?")
	if got := r.accepted(5 * time.Minute); len(got) != 1 {
		t.Errorf("after the trouble the sink got %d updates, want 1", len(got))
	}
}

func ends(t *testing.T, r *running) {
	r.stop()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("Run returned %v after its context ended, want nil", err)
		}
		r.ended <- err
	default:
		t.Error("Run did not return within 10 s of its context's end")
	}
}

func fatal(t *testing.T, r *running) {
	if r.Fatal == nil {
		t.Skip("this platform's simulator revokes no credentials")
	}
	r.Fatal()
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	select {
	case err := <-r.ended:
		wantClass(t, "Run with revoked credentials", err, platforms.Fatal)
		r.ended <- err
	default:
		t.Error("Run goes on with revoked credentials")
	}
}
