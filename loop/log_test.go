package loop_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
)

// TestTransitionsAreLogged: one line each, with what is needed to understand why the turn went where it went.
func TestTransitionsAreLogged(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	j := newJournal(t, "go")
	play(t, j, &loop.Runner{Log: log, Limits: loop.Limits{MaxTurns: 2}}, registry(t, echo(t)),
		modeltest.Call("echo", `{"text":"a"}`), modeltest.Empty(), modeltest.Call("echo", `{"text":"a"}`), modeltest.Text("So far."))
	var way, info []string
	for line := range strings.Lines(out.String()) {
		var entry struct {
			Level, Msg, Task, From, Signal, To, Fingerprint string
			Round                                           int
			EqualRounds                                     int `json:"equal_rounds"`
			TokensIn                                        int `json:"tokens_in"`
			Checked                                         []string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Task != "t1" {
			t.Errorf("task %q in %s", entry.Task, line)
		}
		if entry.Level == "INFO" {
			info = append(info, entry.Msg)
		}
		if entry.Msg != "transition" {
			continue
		}
		way = append(way, entry.From+" -"+entry.Signal+"-> "+entry.To)
		if entry.From == "observing" && (len(entry.Checked) != 5 || entry.Fingerprint == "" || entry.TokensIn == 0 || entry.EqualRounds != entry.Round) {
			t.Errorf("a line of observing lacks something: %s", line)
		}
	}
	want := []string{
		"idle -begun-> thinking", "thinking -asked tools-> acting", "acting -observed-> observing", "observing -go on-> thinking",
		"thinking -said none-> recovering", "recovering -retry-> thinking",
		"thinking -asked tools-> acting", "acting -observed-> observing", "observing -exhausted-> thinking", "thinking -said text-> done",
	}
	if diff := cmp.Diff(want, way); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"turn started", "empty reply, asking again", "end condition", "turn ended"}, info); diff != "" {
		t.Error(diff)
	}
}
