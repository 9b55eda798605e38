//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// How long the storm is unless the environment says otherwise.
const (
	stormKills         = 5  // TALARIA_KILLS
	stormConversations = 30 // TALARIA_CONVERSATIONS, at most 999
	stormSeed          = 1  // TALARIA_SEED
)

// TestStorm kills the program with SIGKILL at random moments while people on three platforms talk to it in many
// conversations at once, and holds it to account in the end: every message has one outcome that its author sees, and
// nothing stands twice.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for a short run")
	}
	t.Parallel()
	kills := number("TALARIA_KILLS", stormKills)
	s := newStorm(t)
	s.launch()
	s.everybodyIsHeard()
	for n := range kills {
		s.kill(n)
	}
	s.calm()
	s.checkFigures()
	s.program.signal(t, syscall.SIGTERM)
	s.program.mustExit(t, 0)
	r := s.check()
	t.Logf("seed %d: %d kills, %d conversations, %d messages: %d lost, %d repeated, %d in doubt, %d given up after three kills",
		s.seed, kills, len(s.people), r.messages, r.lost, r.repeated, r.doubtful, r.givenUp)
}

// storm is the running test.
type storm struct {
	*services
	t        *testing.T
	seed     int
	chance   *rand.Rand // of the test's goroutine
	program  *program
	config   string
	figures  string // the address of the program's metrics
	database string
	effects  string // a file to which each tool call adds its question's id
	people   []*person
	sending  map[sessions.RowID]string // the ids of the questions whose answers were on their way at a kill
}

func newStorm(t *testing.T) *storm {
	folder := t.TempDir()
	n := number("TALARIA_CONVERSATIONS", stormConversations)
	s := &storm{
		t: t, seed: number("TALARIA_SEED", stormSeed), database: filepath.Join(folder, "data", "state", "talaria.db"),
		figures: freeAddress(t), effects: filepath.Join(folder, "effects"), sending: map[sessions.RowID]string{},
	}
	s.chance = rand.New(rand.NewPCG(uint64(s.seed)*0x9e3779b97f4a7c15, 0))
	s.services = serveAll(t, (n+len(allPlatforms)-1)/len(allPlatforms), s.reply, nil)
	for i := range n {
		s.people = append(s.people, &person{seat: s.seat(allPlatforms[i%len(allPlatforms)], i/len(allPlatforms)), number: i})
	}
	more := fmt.Sprintf("[tools]\ntoolsets = [\"files\", \"terminal\"]\napproval = \"off\"\nsandbox = \"off\"\n[http]\nlisten = %q\n", s.figures)
	s.config = s.services.config(t, filepath.Join(folder, "data"), more, `"debug"`, `"info"`)
	return s
}

// number reads a number from the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func (s *storm) launch() { s.program = launch(s.t, nil, "run", "--config", s.config) }

// everybodyIsHeard lets everybody have one answer, and starts the program again, so that it surely knows where to look for
// what it was not told while it was dead.
func (s *storm) everybodyIsHeard() {
	s.t.Helper()
	poll(s.t, "the program connects to Discord", func() bool { return s.discord.Connected() == 1 })
	s.ask()
	s.until(len(s.people), patience)
	s.program.signal(s.t, syscall.SIGTERM)
	s.program.mustExit(s.t, 0)
	s.launch()
}

// kill lets everybody ask, kills the program at a random moment and starts it again: soon after it has started, later,
// or when some have their answers.
func (s *storm) kill(n int) {
	s.t.Helper()
	s.ask()
	switch n % 3 {
	case 0:
		<-time.After(time.Duration(s.chance.IntN(300)) * time.Millisecond)
	case 1:
		<-time.After(time.Duration(s.chance.IntN(3000)) * time.Millisecond)
	default:
		s.until(1+s.chance.IntN(len(s.people)), 5*time.Second)
	}
	s.program.kill()
	s.examine()
	s.model.Forget()
	s.launch()
}

// examine notes which answers were on their way.
func (s *storm) examine() {
	s.t.Helper()
	s.read(func(ctx context.Context, store *bolt.Store) {
		for row, err := range store.Undelivered(ctx) {
			s.must(err)
			for _, part := range row.Parts {
				if p := s.whose(row.Key); part.State == sessions.Sending && s.sending[row.ID] == "" {
					s.sending[row.ID] = p.answeredBy(row)
					p.doubtful = append(p.doubtful, row.ID)
				}
			}
		}
	})
}

// whose returns the person of a conversation.
func (s *storm) whose(key sessions.Key) *person {
	for _, p := range s.people {
		if strings.HasSuffix(string(key), "/"+p.seat.chat) {
			return p
		}
	}
	s.t.Fatalf("nobody has the conversation %s", key)
	return nil
}

// ask lets everybody whose last question came to an end ask the next one.
func (s *storm) ask() {
	s.t.Helper()
	for _, p := range s.people {
		if s.settled(p) {
			p.ask(s.t, s.chance)
		}
	}
}

// until returns when so many people have no open question, or after a while.
func (s *storm) until(settled int, within time.Duration) bool {
	for late := time.Now().Add(within); ; <-time.After(50 * time.Millisecond) {
		n := 0
		for _, p := range s.people {
			if s.settled(p) {
				n++
			}
		}
		if n >= settled {
			return true
		}
		if time.Now().After(late) {
			return false
		}
	}
}

// calm waits until everybody has an outcome and the program has nothing left to do.
func (s *storm) calm() {
	s.t.Helper()
	s.until(len(s.people), 3*patience)
	for _, p := range s.people {
		if !s.settled(p) {
			s.t.Errorf("%s: question %s has no outcome", p.seat.platform, p.last())
			p.show(s.t)
		}
	}
	for late := time.Now().Add(patience); ; <-time.After(200 * time.Millisecond) {
		f := s.fetchFigures()
		if f["talaria_inbox_pending"] == 0 && f["talaria_outbox_waiting"] == 0 {
			return
		}
		if time.Now().After(late) {
			s.t.Fatalf("%v updates wait and %v messages are on their way", f["talaria_inbox_pending"], f["talaria_outbox_waiting"])
		}
	}
}

// read opens the database while the program does not run.
func (s *storm) read(look func(context.Context, *bolt.Store)) {
	s.t.Helper()
	store, err := bolt.OpenToRead(s.database)
	s.must(err)
	look(s.t.Context(), store)
	s.must(store.Close())
}

func (s *storm) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
