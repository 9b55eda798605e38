package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

func wantValue(t tb, s sessions.Store, name, want string) {
	t.Helper()
	got, err := s.Value(t.Context(), name)
	if err != nil || string(got) != want {
		t.Fatalf("value %s = %q, %v; want %q", name, got, err, want)
	}
}

func setting(name, was, value string) sessions.Set {
	return sessions.Set{Name: name, Was: []byte(was), Value: []byte(value)}
}

func setValue(t *testing.T, h Harness) {
	s := h.Store
	wantValue(t, s, "a", "")
	wantErr(t, s, setting("a", "x", "1"), sessions.ErrState)
	commit(t, s, setting("a", "", "1"))
	commit(t, s, setting("a/b c", "", "other"))
	wantErr(t, s, setting("a", "", "2"), sessions.ErrState)
	value := []byte("2")
	commit(t, s, sessions.Set{Name: "a", Was: []byte("1"), Value: value})
	value[0] = 'x'
	wantValue(t, s, "a", "2")
	got, err := s.Value(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got[0] = 'x'
	wantValue(t, s, "a", "2")
	commit(t, s, setting("a", "2", ""))
	wantValue(t, s, "a", "")
	commit(t, s, setting("a", "", "3"))
	wantPruned(t, s, start.AddDate(1, 0, 0), 0)
	if _, err := s.Commit(t.Context(), sessions.Set{Value: []byte("x")}); err == nil {
		t.Fatal("a value without a name was taken")
	}
	diff(t, "keys", readEverything(t, s).Keys, []sessions.Key(nil))
	if h.Reopen != nil {
		closeStore(t, s)
		s = h.Reopen(t)
	}
	wantValue(t, s, "a", "3")
	wantValue(t, s, "a/b c", "other")
	closeStore(t, s)
	_, err = s.Value(t.Context(), "a")
	_, setErr := s.Commit(t.Context(), setting("a", "3", "4"))
	if !errors.Is(err, sessions.ErrClosed) || !errors.Is(setErr, sessions.ErrClosed) {
		t.Fatalf("after close: %v, %v", err, setErr)
	}
}

func valueOfPeers(t *testing.T, a, b sessions.Store) {
	commit(t, a, setting("n", "", "1"))
	wantValue(t, b, "n", "1")
	commit(t, b, setting("n", "1", "2"))
	wantErr(t, a, setting("n", "1", "3"), sessions.ErrState)
	wantValue(t, a, "n", "2")
}

func oneSetWins(t *testing.T, h Harness) {
	const n = 16
	errs := together(n, func(i int) error {
		_, err := h.Store.Commit(t.Context(), setting("n", "", fmt.Sprint(i)))
		return err
	})
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
			wantValue(t, h.Store, "n", fmt.Sprint(i))
		case !errors.Is(err, sessions.ErrState):
			t.Fatal(err)
		}
	}
	if won != 1 {
		t.Fatalf("%d of %d won", won, n)
	}
}
