package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/metrics"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// standing is a gateway that stands somehow, on a platform of which only that matters.
type standing struct {
	platforms.Adapter
	gauges gateway.Gauges
}

func (s standing) Gauges(context.Context) (gateway.Gauges, error) { return s.gauges, nil }
func (standing) Name() platforms.Name                             { return "test" }
func (standing) LastAlive() time.Time                             { return time.Now() }
func (standing) Pace() platforms.Pace                             { return platforms.Pace{Freezes: 4, Waiting: 2} }

func read(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestFigures(t *testing.T) {
	m := metrics.New("v1")
	s := standing{gauges: gateway.Gauges{Waiting: 3, Claimed: 2, Running: 1, Awake: 9, Undelivered: 5, Oldest: time.Minute}}
	m.Watch(s, []platforms.Adapter{s}, func() (int64, error) { return 4096, nil }, func(tool string) bool { return tool == "terminal" })
	for _, e := range []gateway.Event{
		gateway.Began{Items: 1, Rows: 2},
		gateway.Accepted{Platform: "test"},
		gateway.Accepted{Platform: "test"},
		gateway.Settled{Platform: "test", Ending: gateway.Answered, Count: 2},
		gateway.Signed{Platform: "test", Waited: 300 * time.Millisecond},
		gateway.RowQueued{Platform: "test"},
		gateway.RowRetried{Platform: "test", Class: platforms.RateLimited},
		gateway.RowSettled{Platform: "test", State: sessions.Sent, Waited: 3 * time.Second},
		gateway.RowSettled{Platform: "test", State: sessions.InDoubt, Waited: 3 * time.Second},
		gateway.Edited{Platform: "test"},
		gateway.Edited{Platform: "test", Saved: true},
		gateway.Stranger{Platform: "test"},
	} {
		m.Observe(e)
	}
	for _, e := range []loop.Event{
		loop.CallEnded{Tool: "terminal", Outcome: sessions.OutcomeFailed, Class: tools.FailTimeout, Stage: "execution", Took: time.Second},
		loop.CallEnded{Tool: "rm_everything", Outcome: sessions.OutcomeRefused, Class: tools.FailArguments, Stage: "call"},
		loop.SubAgent{Event: loop.CallEnded{Tool: "terminal", Outcome: sessions.OutcomeOK, Took: time.Second}},
		loop.SubAgent{Event: loop.Ended{Outcome: loop.Outcome{Reason: loop.EndAnswered}}},
		loop.CircuitOpened{Tool: "terminal"},
		loop.ApprovalOver{Allowed: true},
		loop.FellBack{From: "a", To: "b", Class: loop.ModelAuth},
		loop.Retrying{Class: loop.ModelNetwork},
		loop.Compacted{Pruned: true},
		loop.Ended{Outcome: loop.Outcome{Reason: loop.EndRounds, Rounds: 7}},
	} {
		m.Observe(gateway.InTurn{Platform: "test", Event: e})
	}
	m.Called(loop.Called{Model: "a", Took: time.Second, Usage: sessions.Usage{Input: 100, Cached: 60, Output: 10}, Cost: 0.25})
	m.Called(loop.Called{Model: "a", Class: loop.ModelQuota})

	text := read(t, m)
	for _, want := range []string{
		`talaria_build{version="v1"} 1`, `talaria_inbox_found 1`, `talaria_outbox_found 2`,
		`talaria_inbox_accepted_total{platform="test"} 2`, `talaria_inbox_ended_total{ending="answered",platform="test"} 2`,
		`talaria_first_sign_seconds_bucket{platform="test",le="0.5"} 1`, `talaria_first_sign_seconds_bucket{platform="test",le="0.25"} 0`,
		`talaria_answer_seconds_sum{platform="test"} 3`, `talaria_outbox_queued_total{platform="test"} 1`,
		`talaria_outbox_ended_total{platform="test",state="sent"} 1`, `talaria_outbox_ended_total{platform="test",state="in doubt"} 1`,
		`talaria_outbox_retried_total{class="rate limited",platform="test"} 1`,
		`talaria_progress_edits_total{platform="test",what="made"} 1`, `talaria_progress_edits_total{platform="test",what="saved"} 1`,
		`talaria_strangers_refused_total{platform="test"} 1`,
		`talaria_tool_calls_total{outcome="failed",tool="terminal"} 1`, `talaria_tool_calls_total{outcome="ok",tool="terminal"} 1`,
		`talaria_tool_calls_total{outcome="refused",tool="unknown"} 1`,
		`talaria_tool_failures_total{class="timeout",stage="execution",tool="terminal"} 1`,
		`talaria_tool_seconds_count{tool="terminal"} 2`, `talaria_tool_circuits_opened_total{tool="terminal"} 1`,
		`talaria_approvals_total{allowed="yes"} 1`, `talaria_model_fallbacks_total{class="auth",from="a",to="b"} 1`,
		`talaria_model_retries_total{class="network"} 1`, `talaria_compressions_total{how="pruned"} 1`,
		`talaria_turns_ended_total{reason="` + string(loop.EndRounds) + `"} 1`, `talaria_turn_rounds_sum{reason="` + string(loop.EndRounds) + `"} 7`,
		`talaria_model_calls_total{class="none",model="a"} 1`, `talaria_model_calls_total{class="quota",model="a"} 1`,
		`talaria_model_tokens_total{kind="cached",model="a"} 60`, `talaria_model_cost_dollars_total{model="a"} 0.25`,
		`talaria_inbox_pending{state="waiting"} 3`, `talaria_inbox_pending{state="in a turn"} 2`, `talaria_turns_running 1`,
		`talaria_conversations_awake 9`, `talaria_outbox_waiting 5`, `talaria_outbox_oldest_seconds 60`, `talaria_database_bytes 4096`,
		`talaria_platform_connected{platform="test"} 1`, `talaria_rate_limit_freezes_total{platform="test"} 4`,
		`talaria_rate_limit_waiting{platform="test"} 2`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("not there: %s", want)
		}
	}
	if strings.Contains(text, "rm_everything") || strings.Contains(text, `turns_ended_total{reason="answered"}`) {
		t.Error("a name that a model made up, or the end of a sub-agent, is counted")
	}
}

func BenchmarkObserve(b *testing.B) {
	m := metrics.New("v1")
	for b.Loop() {
		m.Observe(gateway.Accepted{Platform: "telegram"})
		m.Observe(gateway.Settled{Platform: "telegram", Ending: gateway.Answered, Count: 1})
		m.Observe(gateway.RowSettled{Platform: "telegram", State: sessions.Sent, Waited: time.Second})
	}
}
