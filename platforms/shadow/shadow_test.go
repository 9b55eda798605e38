package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/discord"
	"github.com/talaria-agent/talaria/platforms/slack"
	"github.com/talaria-agent/talaria/platforms/telegram"
)

// capabilities returns which optional interfaces an adapter has.
func capabilities(a platforms.Adapter) map[string]bool {
	has := map[string]bool{}
	_, has["Editor"] = a.(platforms.Editor)
	_, has["Deleter"] = a.(platforms.Deleter)
	_, has["Typer"] = a.(platforms.Typer)
	_, has["Reactor"] = a.(platforms.Reactor)
	_, has["Historian"] = a.(platforms.Historian)
	_, has["Finder"] = a.(platforms.Finder)
	_, has["Checker"] = a.(platforms.Checker)
	_, has["CommandRegistrar"] = a.(platforms.CommandRegistrar)
	_, has["Paced"] = a.(platforms.Paced)
	_, has["Streamer"] = a.(platforms.Streamer)
	_, has["Prober"] = a.(platforms.Prober)
	return has
}

// TestCapabilitiesStay: the gateway finds exactly what the platform has.
func TestCapabilitiesStay(t *testing.T) {
	tg, err1 := telegram.New(telegram.Config{Token: "1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
	sl, err2 := slack.New(slack.Config{BotToken: "xoxb-1", AppToken: "xapp-1"})
	dc, err3 := discord.New(discord.Config{Token: "1"})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, inner := range []platforms.Adapter{tg, sl, dc} {
		wrapped := wrap(t, inner, newFile(t, 1<<20), string(inner.Name()))
		if wrapped == inner {
			t.Errorf("%s is not in shadow", inner.Name())
		}
		if diff := cmp.Diff(capabilities(inner), capabilities(wrapped)); diff != "" {
			t.Errorf("%s: %s", inner.Name(), diff)
		}
		if same := wrap(t, inner, newFile(t, 1<<20), "elsewhere"); same != inner {
			t.Errorf("%s is in shadow although no place names it", inner.Name())
		}
	}
}

// loud is an adapter that writes down what it is made to change.
type loud struct {
	platforms.Adapter // none: a call that is not expected panics
	platforms.Checker
	platforms.Prober
	platforms.Paced

	calls   []string
	updates []platforms.Update
	got     []platforms.Receipt
}

func (l *loud) Name() platforms.Name { return "loud" }

func (l *loud) call(op string, at platforms.Address) error {
	l.calls = append(l.calls, op+" "+at.Chat)
	return nil
}

func (l *loud) Send(_ context.Context, at platforms.Address, _ platforms.Outgoing) (string, error) {
	return "real", l.call("send", at)
}

func (l *loud) Edit(_ context.Context, at platforms.Address, _ string, _ platforms.Outgoing) error {
	return l.call("edit", at)
}

func (l *loud) Delete(_ context.Context, at platforms.Address, _ string) error {
	return l.call("delete", at)
}
func (l *loud) Typing(_ context.Context, at platforms.Address) error { return l.call("typing", at) }
func (l *loud) React(_ context.Context, at platforms.Address, _, _ string) error {
	return l.call("react", at)
}

func (l *loud) Fetch(context.Context, platforms.Attachment, io.Writer, int64) error { return nil }

func (l *loud) Find(_ context.Context, at platforms.Address, _ platforms.Outgoing, _ time.Time) (string, error) {
	return "real", l.call("find", at)
}

func (l *loud) History(_ context.Context, at platforms.Address, _ time.Time) ([]*platforms.Message, error) {
	return nil, l.call("history", at)
}
func (l *loud) Connections() int { return 7 }
func (l *loud) RegisterCommands(context.Context, []platforms.Command) error {
	return l.call("menu", platforms.Address{})
}

func (l *loud) Run(ctx context.Context, sink platforms.Sink) error {
	for _, u := range l.updates {
		receipt, err := sink(ctx, u)
		if err != nil {
			return err
		}
		l.got = append(l.got, receipt)
	}
	return nil
}

func newFile(t *testing.T, most int64) *File {
	t.Helper()
	file, err := Open(filepath.Join(t.TempDir(), "deep", "shadow.jsonl"), most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

func wrap(t *testing.T, inner platforms.Adapter, file *File, places ...string) platforms.Adapter {
	t.Helper()
	a, err := Wrap(inner, places, file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// lines reads a file as a person would.
func lines(t *testing.T, path string) (all []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		var l Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		all = append(all, l.Op+" "+l.To.Chat+" "+l.Text)
	}
	return all
}

// everything makes every call that changes something at an address.
func everything(t *testing.T, a platforms.Adapter, chat string) (id string) {
	t.Helper()
	ctx, at := t.Context(), platforms.Address{Platform: "loud", Account: "a", Chat: chat}
	id, err := a.Send(ctx, at, platforms.Outgoing{Text: "hello", Key: "k-" + chat})
	found, err2 := a.(platforms.Finder).Find(ctx, at, platforms.Outgoing{Key: "k-" + chat}, time.Now())
	if err := errors.Join(err, err2,
		a.(platforms.Editor).Edit(ctx, at, id, platforms.Outgoing{Text: "hello again"}),
		a.(platforms.Typer).Typing(ctx, at),
		a.(platforms.Reactor).React(ctx, at, "theirs", "👀"),
		a.(platforms.Deleter).Delete(ctx, at, id),
	); err != nil {
		t.Fatal(err)
	}
	if found != id {
		t.Errorf("found %q, sent %q", found, id)
	}
	return id
}

// TestNothingIsSaid: where there is shadow, all goes into the file and nothing to the platform; elsewhere all goes on.
func TestNothingIsSaid(t *testing.T) {
	inner, file := &loud{}, newFile(t, 1<<20)
	a := wrap(t, inner, file, "loud:dark")
	first, second := everything(t, a, "dark"), everything(t, a, "dark2")
	if !strings.HasPrefix(first, "shadow-") || second != "real" {
		t.Errorf("ids are %q and %q", first, second)
	}
	if _, err := a.(platforms.Historian).History(t.Context(), platforms.Address{Platform: "loud", Chat: "dark"}, time.Now()); err != nil {
		t.Error(err)
	}
	if err := a.(platforms.CommandRegistrar).RegisterCommands(t.Context(), nil); err != nil {
		t.Error(err)
	}
	want := []string{"send dark2", "find dark2", "edit dark2", "typing dark2", "react dark2", "delete dark2", "history dark", "menu "}
	if diff := cmp.Diff(want, inner.calls); diff != "" {
		t.Error(diff)
	}
	want = []string{"send dark hello", "edit dark hello again", "typing dark ", "react dark 👀", "delete dark "}
	if diff := cmp.Diff(want, lines(t, file.path)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(file.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	inner.calls = nil
	whole := wrap(t, inner, newFile(t, 1<<20), "loud")
	if err := whole.(platforms.CommandRegistrar).RegisterCommands(t.Context(), nil); err != nil || len(inner.calls) > 0 {
		t.Errorf("the menu of a platform in shadow: %v %v", inner.calls, err)
	}
}

// TestNotesAndMoves: what an acknowledgement would show is kept back, and a chat that becomes another one stays in shadow,
// over a restart and a full file, too.
func TestNotesAndMoves(t *testing.T) {
	at := func(chat string) platforms.Origin {
		return platforms.Origin{Address: platforms.Address{Platform: "loud", Account: "a", Chat: chat}}
	}
	inner, file := &loud{updates: []platforms.Update{
		&platforms.ButtonPressed{Origin: at("dark")}, &platforms.CommandInvoked{Origin: at("light")},
		&platforms.ChatMigrated{From: at("dark").Address, To: "new"}, &platforms.ChatMigrated{From: at("new").Address, To: "newer"},
		&platforms.ChatMigrated{From: at("light").Address, To: "lighter"},
	}}, newFile(t, 500)
	a := wrap(t, inner, file, "loud:dark")
	err := a.Run(t.Context(), func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
		return platforms.Receipt{Note: "psst"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if inner.got[0].Note != "" || inner.got[1].Note != "psst" {
		t.Errorf("shown: %+v", inner.got)
	}
	for range 20 { // the file is full several times
		everything(t, a, "newer")
	}
	again, err := Open(file.path, 500)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	everything(t, wrap(t, inner, again, "loud:dark"), "newer")
	if len(inner.calls) > 0 {
		t.Errorf("said in a chat in shadow: %v", inner.calls)
	}
	everything(t, a, "lighter")
	if len(inner.calls) == 0 {
		t.Error("another chat that moved is in shadow")
	}
	for _, path := range []string{file.path, file.path + ".1"} {
		if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
			t.Errorf("%s: %v %v", path, info.Size(), err)
		}
	}
}

// TestCutLine: a line that a crash has cut off spoils no other.
func TestCutLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shadow.jsonl")
	if err := os.WriteFile(path, []byte(`{"op":"send","te`), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Open(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	id, err := file.write(Line{Op: "send", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := file.find("k"); found != id || err != nil {
		t.Errorf("found %q, %v; want %q", found, err, id)
	}
}
