package gateway

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway/schedule"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions/memory"
)

func planOf(person string) plan {
	return plan{
		Title: "x", Prompt: "x", When: schedule.Schedule{Every: time.Hour, Since: time.Unix(0, 0), Zone: "UTC"},
		Origin: platforms.Origin{Address: platforms.Address{Platform: platforms.Telegram, Chat: person}, Sender: platforms.Person{ID: person}},
		Last:   time.Unix(0, 0),
	}
}

// TestPlans: two that change the same jobs at once lose nothing, numbers are never given again, and whoever is forgotten
// has no job any more, also for who reads them anew.
func TestPlans(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	a, b := newPlans(store), newPlans(store)
	var both sync.WaitGroup
	for _, p := range []*plans{a, b} {
		for range 10 {
			both.Go(func() {
				if _, err := p.add(ctx, planOf("1")); err != nil {
					t.Error(err)
				}
			})
		}
	}
	both.Wait()
	for _, p := range []*plans{a, b} {
		for range 10 {
			both.Go(func() {
				job, err := p.change(ctx, 1, func(job *plan) { job.MaxTurns++ })
				if err != nil || job == nil {
					t.Errorf("job 1 is %v, %v", job, err)
				}
			})
		}
	}
	both.Wait()
	if _, job, err := a.read(ctx, 1); err != nil || job.MaxTurns != 20 {
		t.Errorf("after 20 changes job 1 is %+v, %v", job, err)
	}
	if err := a.remove(ctx, 20); err != nil {
		t.Error(err)
	}
	if gone, err := b.change(ctx, 20, func(*plan) {}); gone != nil || err != nil {
		t.Errorf("a removed job is %v, %v", gone, err)
	}
	other, err := a.add(ctx, planOf("2"))
	if err != nil || other.Number != 21 {
		t.Errorf("the next job is %d, %v", other.Number, err)
	}
	next, due := a.due(time.Unix(1800, 0), func(platforms.Name) bool { return true })
	if len(due) > 0 || !next.Equal(time.Unix(3600, 0)) {
		t.Errorf("at half past %v is due, then %s", due, next)
	}
	if _, due := a.due(time.Unix(1<<40, 0), func(platforms.Name) bool { return false }); len(due) > 0 {
		t.Errorf("%v is due on a platform that is not there", due)
	}
	if err := newPlans(store).forget(ctx, "telegram", "1"); err != nil {
		t.Error(err)
	}
	fresh := newPlans(store)
	if err := fresh.load(ctx); err != nil {
		t.Error(err)
	}
	kept := fresh.all[21]
	if left := fmt.Sprint(len(fresh.all), " ", kept.person()); left != "1 telegram:2" {
		t.Errorf("left is %s", left)
	}
}

func TestSplitSchedule(t *testing.T) {
	for text, want := range map[string][2]string{
		"0 9 * * 1-5 Say good morning":   {"0 9 * * 1-5", "Say good morning"},
		"every 2h look":                  {"every 2h", "look"},
		"Every 2 hours look at 3 things": {"Every 2 hours", "look at 3 things"},
		"in 30m  two\nlines":             {"in 30m", "two\nlines"},
		"@daily look":                    {"@daily", "look"},
		"2026-01-31T09:00:00Z look":      {"2026-01-31T09:00:00Z", "look"},
		"2026-01-31 09:00 look":          {"2026-01-31 09:00", "look"},
		`"0 9 * * *" look`:               {"0 9 * * *", "look"},
		`"0 9 * * * look`:                {"0 9 * * * look", ""},
		"":                               {"", ""},
		"every 2h":                       {"every 2h", ""},
		"0 9 * *":                        {"0 9 * *", ""},
	} {
		if when, prompt := splitSchedule(text); when != want[0] || prompt != want[1] {
			t.Errorf("%q is %q and %q, want %q", text, when, prompt, want)
		}
	}
}
