package platformtest

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// What goes wrong must be told apart: what may be repeated, what may not, and who can cure it.

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
