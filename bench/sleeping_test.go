package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// crowd is a platform without a network that keeps nothing: whoever writes is answered into the void.
type crowd struct {
	sinks    chan platforms.Sink // gets what Run is called with
	answered atomic.Int64
}

func newCrowd() *crowd { return &crowd{sinks: make(chan platforms.Sink, 1)} }

func (*crowd) Name() platforms.Name       { return platforms.Telegram }
func (*crowd) Split(text string) []string { return []string{text} }
func (*crowd) Limits() platforms.Limits   { return platforms.Limits{Text: 4096} }

func (c *crowd) Run(ctx context.Context, sink platforms.Sink) error {
	c.sinks <- sink
	<-ctx.Done()
	return nil
}

func (c *crowd) Send(context.Context, platforms.Address, platforms.Outgoing) (string, error) {
	return strconv.FormatInt(c.answered.Add(1), 10), nil
}

// message is what somebody writes in direct messages.
func (*crowd) message(who int) *platforms.Message {
	id := strconv.Itoa(who)
	return &platforms.Message{
		Origin: platforms.Origin{
			Address: platforms.Address{Platform: platforms.Telegram, Account: "1", Chat: id},
			Kind:    platforms.Direct, Sender: platforms.Person{ID: id, Name: "Somebody"},
		},
		Native: "telegram/" + id, ID: "1", Text: "What is the state of things?", Mentioned: true, At: time.Now(),
	}
}

// sayer is a model that says the same always.
type sayer struct{}

func (sayer) Name() string { return "sayer" }

func (sayer) Call(_ context.Context, _ loop.Request, onText func(string)) (loop.Reply, error) {
	const text = "All is well."
	onText(text)
	return loop.Reply{Finish: loop.FinishStop, Message: sessions.Message{Role: sessions.RoleAssistant, Text: text}}, nil
}

// BenchmarkSleeping: what 10,000 conversations cost that had one exchange each and sleep now. "memory": how much more a
// gateway takes that was started with them than one that was started with none, on heap and stacks (goal: at most 5 MiB),
// and how many more goroutines; MiB-left is what the gateway has kept that they were awake in, all of them at once. "start":
// how long it takes to start, from opening the database until the platform is connected to, against a database without
// conversations (goal: no longer); "start after a kill" is the same with databases that were not closed, which are read
// whole. It takes some minutes, because conversations fall asleep after one.
func BenchmarkSleeping(b *testing.B) {
	const many = 10_000
	folder := b.TempDir()
	database := func(name string) string { return filepath.Join(folder, name, "talaria.db") }

	chat := newCrowd()
	h := newHouse(b, database("many"), chat, sayer{})
	sink := <-chat.sinks
	before := held()
	talk(b, chat, sink, many)
	for awake(b, h) > 0 {
		time.Sleep(time.Second)
	}
	left := held() - before
	copyFile(b, database("many"), database("many killed"))
	h.stop()

	chat = newCrowd()
	h = newHouse(b, database("none"), chat, sayer{})
	<-chat.sinks
	copyFile(b, database("none"), database("none killed"))
	h.stop()

	b.Run("memory", func(b *testing.B) {
		var more, goroutines int64
		for b.Loop() {
			none, few := standing(b, database("none"))
			some, all := standing(b, database("many"))
			more, goroutines = some-none, int64(all-few)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(more)/(1<<20), "MiB-more")
		b.ReportMetric(float64(goroutines), "goroutines-more")
		b.ReportMetric(float64(left)/(1<<20), "MiB-left")
	})
	b.Run("start", func(b *testing.B) {
		prepared(b, 15, starting(b, database("many"), false), starting(b, database("none"), false))
	})
	b.Run("start after a kill", func(b *testing.B) {
		prepared(b, 5, starting(b, database("many killed"), true), starting(b, database("none killed"), true))
	})
}

// standing returns what a gateway takes that has nothing to do: bytes and goroutines.
func standing(b *testing.B, database string) (bytes int64, goroutines int) {
	chat := newCrowd()
	h := newHouse(b, database, chat, sayer{})
	<-chat.sinks
	defer h.stop()
	return held(), runtime.NumGoroutine()
}

// talk has so many people write one message each, some at a time, and waits for the answers.
func talk(b *testing.B, chat *crowd, sink platforms.Sink, many int) {
	const atOnce = 500
	for from := 0; from < many; from += atOnce {
		for i := from; i < from+atOnce; i++ {
			go func() {
				if _, err := sink(context.Background(), chat.message(i)); err != nil {
					b.Error(err)
				}
			}()
		}
		for began := time.Now(); chat.answered.Load() < int64(from+atOnce); time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				b.Fatalf("only %d were answered", chat.answered.Load())
			}
		}
	}
}

func awake(b *testing.B, h *house) int {
	gauges, err := h.gateway.Gauges(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return gauges.Awake
}

// starting prepares a start from a database, of a copy of it if it is to be as a kill has left it.
func starting(b *testing.B, database string, killed bool) func() (work func()) {
	var last *house
	b.Cleanup(func() { last.stop() })
	n := 0
	return func() func() {
		if last != nil {
			last.stop()
		}
		from := database
		if killed {
			n++
			from = filepath.Join(b.TempDir(), fmt.Sprint(n), "talaria.db")
			copyFile(b, database, from)
		}
		chat := newCrowd()
		return func() {
			last = newHouse(b, from, chat, sayer{})
			<-chat.sinks
		}
	}
}

func copyFile(b *testing.B, from, to string) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		b.Fatal(err)
	}
	in, err := os.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		b.Fatal(err)
	}
}
