package gateway_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

func keysOf(t *testing.T, s sessions.Store) (keys []string) {
	t.Helper()
	for key, err := range s.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(key))
	}
	return keys
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// TestEraseWhileRunning: a conversation at work is left alone, an idle one goes with its work folder, the platform's
// repetition of what was said brings nothing back, and the next message begins anew.
func TestEraseWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		b.erased = true
		b.start()
		chat.say("alice", "e1", "m1 tool")
		chat.say("bob", "e2", "m2 tool")
		time.Sleep(time.Second)
		e, err := b.gateway.Eraser(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Delete(t.Context(), "test/a/dm/alice"); !errors.Is(err, gateway.ErrBusy) {
			t.Errorf("while a turn runs: %v", err)
		}
		time.Sleep(time.Minute / 2)
		work := filepath.Join(b.cfg.WorkRoot, "test_a_dm_alice")
		if !exists(work) {
			t.Fatal("there is no work folder")
		}
		if err := e.Delete(t.Context(), "test/a/dm/alice"); err != nil {
			t.Errorf("when it is idle: %v", err)
		}
		if d := cmp.Diff([]string{"test/a/dm/bob"}, keysOf(t, b.store)); d != "" || exists(work) {
			t.Errorf("work folder %t, keys: %s", exists(work), d)
		}
		chat.say("alice", "e1", "m1 tool")
		chat.say("alice", "e3", "m3")
		time.Sleep(time.Minute / 2)
		if n, m := chat.count("alice", "re: m1."), chat.count("alice", "re: m3."); n != 1 || m != 1 {
			t.Errorf("m1 was answered %d times, m3 %d times", n, m)
		}
		for r, err := range b.store.History(t.Context(), "test/a/dm/alice", 0) {
			if data, _ := r.Encode(); err != nil || strings.Contains(string(data), "m1 tool") {
				t.Errorf("it stands in the log again: %s, %v", data, err)
			}
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// filled is a store with conversations of alice and bob, and their notes.
func filled(t *testing.T) (*gateway.Eraser, *agenttools.Notes, string) {
	t.Helper()
	s := memory.New()
	dir := t.TempDir()
	notes := agenttools.NewNotes(dir, 1000, 1000)
	for key, people := range map[sessions.Key][]string{
		"telegram/7/dm/alice":                {"alice"},
		"telegram/7/group/-5/user/alice":     {"alice"},
		"telegram/7/group/-5/user/bob":       {"bob"},
		"telegram/7/topic/-9/3":              {"alice", "bob"},
		"telegram/7/topic/-9/4":              {"alice"},
		"slack/T1/dm/D1":                     {"U1"},
		"discord/1/channel/2/user/alice":     {"alice"},
		"telegram/7/supergroup/x/user/alice": {"alice"},
	} {
		c, err := s.Acquire(t.Context(), key, "o")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range people {
			place := strings.Join(strings.Split(string(key), "/")[:2], "/") + "/" + strings.Split(string(key), "/")[3]
			noted := sessions.NotesChanged{
				Owner: place + "/" + p, Target: agenttools.TargetMemory, Content: "x", Before: "e3b0c44298fc1c14", // there was nothing
			}
			r := sessions.Record{Entries: []sessions.Entry{
				sessions.TurnStarted{Turn: "t" + p, Requester: p},
				sessions.Approved{Rule: "r", For: p, Forever: true},
				noted,
				sessions.TurnEnded{Turn: "t" + p},
			}}
			if c.Revision, err = s.Commit(t.Context(), sessions.Append{Lease: c.Lease, After: c.Revision, Record: r}); err != nil {
				t.Fatal(err)
			}
			if err := notes.Keep(noted); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &gateway.Eraser{Store: s, Notes: notes}, notes, dir
}

func notesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// folded is a conversation as its next owner gets it.
func folded(t *testing.T, s sessions.Store, key sessions.Key) *sessions.Session {
	t.Helper()
	c, err := s.Acquire(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	found, err := sessions.Fold(key, c.Records)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestForgetAPerson(t *testing.T) {
	e, notes, dir := filled(t)
	f, err := e.Forget(t.Context(), "telegram:alice")
	if err != nil {
		t.Fatal(err)
	}
	want := gateway.Forgotten{
		Keys: []sessions.Key{
			"telegram/7/dm/alice", "telegram/7/group/-5/user/alice", "telegram/7/supergroup/x/user/alice", "telegram/7/topic/-9/4",
		},
		Shared: []sessions.Key{"telegram/7/topic/-9/3"},
	}
	if d := cmp.Diff(want, f); d != "" {
		t.Errorf("forgotten (-want +got):\n%s", d)
	}
	left := []string{
		"discord/1/channel/2/user/alice", "slack/T1/dm/D1", "telegram/7/group/-5/user/bob", "telegram/7/topic/-9/3",
	}
	if d := cmp.Diff(left, keysOf(t, e.Store)); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"discord_1_2_alice", "slack_T1_D1_U1", "telegram_7_-5_bob", "telegram_7_-9_bob"}, notesIn(t, dir)); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
	s := folded(t, e.Store, "telegram/7/topic/-9/3")
	if len(s.Approvals) != 1 || s.Approvals[0].For != "bob" {
		t.Errorf("permissions in the shared conversation: %+v", s.Approvals)
	}
	for person, want := range map[string]string{"alice": "", "bob": "x"} { // the log must not bring the file back
		if text, _, _, err := notes.Open(s, "telegram/7/-9/"+person); text != want || err != nil {
			t.Errorf("what is noted about %s: %q, %v", person, text, err)
		}
	}
	if _, err := e.Forget(t.Context(), "alice"); err == nil {
		t.Error("a person without a platform was taken")
	}
}

// TestForgetInASharedConversation that a running gateway has, while its turn goes on.
func TestForgetInASharedConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = "test/a/dm/alice"
		store := memory.New()
		c, err := store.Acquire(t.Context(), key, "o")
		if err != nil {
			t.Fatal(err)
		}
		r := sessions.Record{Entries: []sessions.Entry{
			sessions.TurnStarted{Turn: "t", Requester: "bob"},
			sessions.Approved{Rule: "r", For: "alice", Forever: true},
			sessions.TurnEnded{Turn: "t"},
		}}
		if _, err := store.Commit(t.Context(), sessions.Append{Lease: c.Lease, Record: r}); err != nil {
			t.Fatal(err)
		}
		chat := newFakeChat("test")
		b := newBench(t, store, chat)
		b.erased = true
		b.start()
		chat.say("alice", "e1", "m1 slow")
		time.Sleep(time.Second)
		e, err := b.gateway.Eraser(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f, err := e.Forget(t.Context(), "test:alice")
		if err != nil || len(f.Keys) != 0 || len(f.Shared) != 1 {
			t.Errorf("forgotten %+v, %v", f, err)
		}
		time.Sleep(5 * time.Minute)
		chat.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if s := folded(t, store, key); len(s.Approvals) > 0 {
			t.Errorf("permissions: %+v", s.Approvals)
		}
	})
}

// TestNotesGoWithTheLastConversation of a chat, not before.
func TestNotesGoWithTheLastConversation(t *testing.T) {
	e, _, dir := filled(t)
	if err := e.Delete(t.Context(), "telegram/7/topic/-9/4"); err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(notesIn(t, dir), " "); !strings.Contains(names, "telegram_7_-9_alice") {
		t.Errorf("gone too early: %s", names)
	}
	if err := e.Delete(t.Context(), "telegram/7/topic/-9/3"); err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(notesIn(t, dir), " "); strings.Contains(names, "telegram_7_-9_") {
		t.Errorf("still there: %s", names)
	}
}

// dying lets a store die at its n-th commit.
type dying struct {
	sessions.Store
	left int
}

var errDead = errors.New("the process has died")

func (d *dying) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if d.left--; d.left < 0 {
		return 0, errDead
	}
	return d.Store.Commit(ctx, c)
}

// TestForgettingIsCompleted after a crash at any commit.
func TestForgettingIsCompleted(t *testing.T) {
	for n := range 100 {
		e, notes, dir := filled(t)
		store := e.Store
		e.Store = &dying{store, n}
		ctx, die := context.WithCancel(t.Context())
		if _, err := e.Forget(ctx, "telegram:alice"); err == nil {
			if n < 5 {
				t.Fatalf("it took only %d commits", n)
			}
			die()
			return
		}
		die()
		e = &gateway.Eraser{Store: store, Notes: notes}
		if err := e.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := strings.Join(keysOf(t, store), " ")
		switch v, err := store.Value(t.Context(), "to be erased"); {
		case err != nil || len(v) > 0:
			t.Fatalf("died at %d: still to be erased: %s, %v", n, v, err)
		case n > 0 && (strings.Count(left, "telegram") != 2 || strings.Contains(strings.Join(notesIn(t, dir), " "), "telegram_7_-5_alice")):
			t.Fatalf("died at %d: left %s, notes %s", n, left, notesIn(t, dir))
		}
	}
	t.Fatal("it never came to its end")
}

// TestRetention: what ended long ago goes, and what was quiet for long; what is pending, fresh or undelivered stays.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		b.erased = true
		b.cfg.Retention = gateway.Retention{Age: 30 * 24 * time.Hour}
		b.start()
		chat.say("alice", "e1", "m1")
		chat.say("bob", "e2", "m2")
		time.Sleep(time.Minute)
		chat.say("bob", "e3", "/new")
		time.Sleep(20 * 24 * time.Hour)
		results := filepath.Join(b.cfg.WorkRoot, "test_a_dm_bob", "results")
		if err := os.MkdirAll(results, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, age := range map[string]time.Duration{"old.txt": 21 * 24 * time.Hour, "named.txt": 21 * 24 * time.Hour, "new.txt": 0} {
			path := filepath.Join(results, name)
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
		chat.say("bob", "e4", "m4 results/named.txt")
		time.Sleep(9 * 24 * time.Hour)
		if !exists(filepath.Join(results, "old.txt")) {
			t.Error("a result went too early")
		}
		said := func(key sessions.Key) string {
			var all strings.Builder
			for r, err := range b.store.History(t.Context(), key, 0) {
				data, _ := r.Encode()
				if err != nil {
					t.Fatal(err)
				}
				all.Write(data)
			}
			return all.String()
		}
		if a, b := said("test/a/dm/alice"), said("test/a/dm/bob"); !strings.Contains(a, "re: m1.") || !strings.Contains(b, "re: m2.") {
			t.Error("something went too early")
		}
		time.Sleep(3 * 24 * time.Hour)
		if a, b := said("test/a/dm/alice"), said("test/a/dm/bob"); a != "" || strings.Contains(b, "re: m2.") || !strings.Contains(b, "re: m4.") {
			t.Errorf("after 32 days: alice %q, bob %q", a, b)
		}
		for name, stays := range map[string]bool{"old.txt": false, "named.txt": true, "new.txt": true} {
			if exists(filepath.Join(results, name)) != stays {
				t.Errorf("%s is there: %t", name, !stays)
			}
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRetentionBySize removes the oldest first, and stops when the rest fits.
func TestRetentionBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		b.erased = true
		b.cfg.Retention = gateway.Retention{Size: 250_000}
		b.start()
		for _, id := range []string{"1", "2", "3", "4"} {
			chat.say("alice", "a"+id, "m"+id+strings.Repeat(" word", 20_000))
			time.Sleep(time.Minute)
			chat.say("alice", "n"+id, "/new")
			time.Sleep(10 * 24 * time.Hour)
		}
		size, err := b.store.Size(t.Context())
		if err != nil || size.Used() > 250_000 || size.Used() < 100_000 {
			t.Errorf("size %d, %v", size.Used(), err)
		}
		var all strings.Builder
		for r := range b.store.History(t.Context(), "test/a/dm/alice", 0) {
			data, _ := r.Encode()
			all.Write(data)
		}
		for text, want := range map[string]bool{"m1 word": false, "m2 word": false, "m4 word": true} {
			if strings.Contains(all.String(), text) != want {
				t.Errorf("%q is there: %t", text, !want)
			}
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestFullDisk: a person is told once that nothing can be taken, and what the platform repeats is answered when there
// is room again.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory.New(), consumed: map[sessions.ItemID]int{}}
		full := true
		store.fails = func(int, sessions.Commit) (bool, bool) { return full, false }
		store.err = sessions.ErrFull
		chat := newFakeChat("test")
		b := newBench(t, store, chat)
		b.start()
		go chat.say("alice", "e1", "m1")
		go chat.say("alice", "e2", "m2")
		time.Sleep(5 * time.Minute)
		if n := chat.count("alice", "my disk is full"); n != 1 {
			t.Errorf("told %d times", n)
		}
		store.mu.Lock()
		full = false
		store.mu.Unlock()
		time.Sleep(5 * time.Minute)
		if a, b := chat.count("alice", "re: m1."), chat.count("alice", "re: m2."); a != 1 || b != 1 {
			t.Errorf("answered %d and %d times", a, b)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestErasedRowHoldsNothing: an answer that waits for its next attempt is not sent any more once its conversation was
// erased, and what is said after it need not wait for that either.
func TestErasedRowHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		b.erased = true
		chat.setSpoil(func(call string, out platforms.Outgoing) error {
			if strings.Contains(out.Text, "re: m1") {
				return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: 3 * time.Hour}
			}
			return nil
		})
		b.start()
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Minute)
		e, err := b.gateway.Eraser(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Delete(t.Context(), "test/a/dm/alice"); err != nil {
			t.Fatal(err)
		}
		chat.say("alice", "e2", "m2")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m2.")
		time.Sleep(4 * time.Hour)
		chat.want(t, 0, "re: m1.")
		if g, err := b.gateway.Gauges(t.Context()); err != nil || g.Undelivered != 0 {
			t.Errorf("%+v are left (%v)", g, err)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}
