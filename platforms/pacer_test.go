package platforms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// testPacer limits classes by their first letter: "s" one a second, "b" one a second with a burst of three, others not.
func testPacer() *Pacer {
	return NewPacer(func(class string) Limit {
		switch class[0] {
		case 's':
			return Limit{Every: time.Second, Burst: 1}
		case 'b':
			return Limit{Every: time.Second, Burst: 3}
		}
		return Limit{}
	})
}

func TestPacerKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := testPacer(), time.Now()
		var at []time.Duration
		for range 5 {
			if err := p.Take(t.Context(), Permit{Classes: []string{"b"}}); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(began))
		}
		want := []time.Duration{0, 0, 0, time.Second, 2 * time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("permits were given at %v, want %v", at, want)
		}
	})
}

// takers waits for permits side by side and records in which order they come.
type takers struct {
	p     *Pacer
	mu    sync.Mutex
	order []string
	done  sync.WaitGroup
}

func (k *takers) take(ctx context.Context, name string, permit Permit) {
	k.done.Go(func() {
		if k.p.Take(ctx, permit) == nil {
			k.mu.Lock()
			k.order = append(k.order, name)
			k.mu.Unlock()
		}
	})
	synctest.Wait()
}

func TestPacerOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &takers{p: testPacer()}
		one := []string{"s"}
		k.take(t.Context(), "first", Permit{Priority: PriorityLookup, Classes: one})
		k.take(t.Context(), "lookup", Permit{Priority: PriorityLookup, Classes: one})
		k.take(t.Context(), "typing", Permit{Priority: PriorityTyping, Classes: one})
		k.take(t.Context(), "progress", Permit{Priority: PriorityProgress, Classes: one})
		k.take(t.Context(), "approval", Permit{Priority: PriorityApproval, Classes: one})
		k.take(t.Context(), "final", Permit{Priority: PriorityFinal, Classes: one})
		k.take(t.Context(), "final 2", Permit{Priority: PriorityFinal, Classes: one})
		k.take(t.Context(), "ack", Permit{Priority: PriorityAck, Classes: one})
		k.done.Wait()
		want := []string{"first", "ack", "final", "final 2", "approval", "progress", "typing", "lookup"}
		if !slices.Equal(k.order, want) {
			t.Errorf("order is %v, want %v", k.order, want)
		}
	})
}

func TestPacerFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := testPacer(), time.Now()
		p.Freeze("chat 1", began.Add(40*time.Second))
		p.Freeze("chat 1", began.Add(10*time.Second)) // a later, shorter one changes nothing
		k := &takers{p: p}
		k.take(t.Context(), "frozen", Permit{Classes: []string{"account", "chat 1"}})
		k.take(t.Context(), "other chat", Permit{Classes: []string{"account", "chat 2"}})
		k.take(t.Context(), "ack", Permit{Priority: PriorityAck, Classes: []string{"account", "chat 1"}})
		if want := []string{"other chat", "ack"}; !slices.Equal(k.order, want) {
			t.Errorf("while one chat is frozen %v went, want %v", k.order, want)
		}
		if p.Try(Permit{Classes: []string{"chat 1"}}) {
			t.Error("a frozen class gave a permit at once")
		}
		if got := p.Frozen("chat 1"); !got.Equal(began.Add(40 * time.Second)) {
			t.Errorf("frozen until %v", got)
		}
		k.done.Wait()
		if waited := time.Since(began); waited != 40*time.Second {
			t.Errorf("the frozen call waited %v", waited)
		}
		if !p.Frozen("chat 1").IsZero() {
			t.Error("the freeze is over and still there")
		}
	})
}

func TestPacerCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPacer()
		p.Freeze("chat", time.Now().Add(time.Hour))
		cause := errors.New("never mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() { result <- p.Take(ctx, Permit{Classes: []string{"chat"}}) }()
		synctest.Wait()
		cancel(cause)
		if err := <-result; !errors.Is(err, cause) {
			t.Errorf("a cancelled call returns %v", err)
		}
		if err := p.Take(ctx, Permit{Classes: []string{"free"}}); !errors.Is(err, cause) {
			t.Errorf("a call with an ended context returns %v", err)
		}
		if n := p.waiting.Len(); n != 0 {
			t.Errorf("%d calls still wait", n)
		}
		time.Sleep(2 * time.Hour) // virtual: the timer of the freeze runs out
	})
}

// TestPacerReserve: whatever progress uses up, an answer can go at once.
func TestPacerReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := testPacer(), time.Now()
		k := &takers{p: p}
		for range 5 {
			k.take(t.Context(), "progress", Permit{Priority: PriorityProgress, Classes: []string{"b"}})
		}
		k.take(t.Context(), "final", Permit{Classes: []string{"b"}})
		k.mu.Lock()
		order := slices.Clone(k.order)
		k.mu.Unlock()
		if want := []string{"progress", "progress", "final"}; !slices.Equal(order, want) || time.Since(began) > 0 {
			t.Errorf("at once went %v, want %v", order, want)
		}
		k.done.Wait()
	})
}

func TestPacerDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, over := testPacer(), make(chan struct{})
		p.Freeze("chat", time.Now().Add(time.Hour))
		ctx := Droppable(t.Context(), over)
		if err := p.Take(ctx, Permit{Classes: []string{"free"}}); err != nil {
			t.Errorf("a call that need not wait returns %v", err)
		}
		result := make(chan error, 1)
		go func() { result <- p.Take(ctx, Permit{Classes: []string{"chat"}}) }()
		synctest.Wait()
		close(over)
		if err := <-result; !errors.Is(err, ErrDropped) {
			t.Errorf("a dropped call returns %v", err)
		}
		if n := p.waiting.Len(); n != 0 {
			t.Errorf("%d calls still wait", n)
		}
		for range 20 {
			if err := p.Take(ctx, Permit{Classes: []string{"free"}}); err != nil {
				t.Fatalf("a call that need not wait was dropped: %v", err)
			}
		}
		time.Sleep(2 * time.Hour) // virtual: the timer of the freeze runs out
	})
}

func TestPacerForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPacer()
		for i := range 10_000 {
			if err := p.Take(t.Context(), Permit{Classes: []string{"s" + time.Duration(i).String()}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(p.classes); n > 400 {
			t.Errorf("%d classes are kept", n)
		}
	})
}

// TestPacerHoldsLimits: whatever is asked for in whatever order, no class ever gives more than its burst and rate allow,
// and everybody is served in the end.
func TestPacerHoldsLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type call struct {
			permit Permit
			after  time.Duration
		}
		var calls []call
		for range rapid.IntRange(1, 30).Draw(rt, "calls") {
			classes := []string{rapid.SampledFrom([]string{"s1", "s2", "b1", "free"}).Draw(rt, "class")}
			if rapid.Bool().Draw(rt, "two") {
				classes = append(classes, "b2")
			}
			calls = append(calls, call{
				Permit{Priority: Priority(rapid.IntRange(0, 5).Draw(rt, "priority")), Classes: classes},
				time.Duration(rapid.IntRange(0, 1500).Draw(rt, "after")) * time.Millisecond,
			})
		}
		synctest.Test(t, func(*testing.T) {
			p, began := testPacer(), time.Now()
			var mu sync.Mutex
			given := map[string][]time.Duration{}
			var done sync.WaitGroup
			for _, c := range calls {
				time.Sleep(c.after)
				done.Go(func() {
					if p.Take(context.Background(), c.permit) != nil {
						return
					}
					mu.Lock()
					defer mu.Unlock()
					for _, class := range c.permit.Classes {
						given[class] = append(given[class], time.Since(began))
					}
				})
			}
			done.Wait()
			for class, at := range given {
				l := p.limitOf(class)
				if l.Every == 0 {
					continue
				}
				slices.Sort(at)
				for i := range at {
					for j := i + l.Burst; j < len(at); j++ {
						if at[j]-at[i] < time.Duration(j-i-l.Burst+1)*l.Every {
							rt.Fatalf("class %s gave %d permits within %v", class, j-i+1, at[j]-at[i])
						}
					}
				}
			}
		})
	})
}
