//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/sessions"
)

// killsByDefault is how many times the program is killed unless TALARIA_KILLS says otherwise (at most 300): in each
// state on each platform.
const killsByDefault = 24

// TestKill kills the program with SIGKILL in every state, starts it again on the same data, and looks what the people
// see at the end: nothing is lost and nothing comes twice.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for a short run")
	}
	t.Parallel()
	kills := killsByDefault
	if n, err := strconv.Atoi(os.Getenv("TALARIA_KILLS")); err == nil {
		kills = n
	}
	d := newDrill(t, kills)
	d.start()
	for i := range kills {
		d.round(i, killStates[i%len(killStates)], allPlatforms[i%len(allPlatforms)])
	}
	for row := range d.looking {
		d.lookedInto(row)
	}
	for _, state := range append(killStates, recovering) {
		t.Logf("%2d kills while %s", d.hits[state], state)
		if d.hits[state] == 0 && kills >= killsByDefault {
			t.Errorf("no kill hit the state %q", state)
		}
	}
	if kills >= killsByDefault {
		d.sendAgain(platforms.Telegram)
		d.sendAgain(platforms.Slack)
	}
	d.checkChats()
	d.program.signal(t, syscall.SIGTERM)
	d.program.mustExit(t, 0)
	d.checkDatabase()
	d.checkEffects()
	for _, err := range d.model.Refused() {
		t.Errorf("the model refused a request: %v", err)
	}
}

// drill is the running test.
type drill struct {
	*services
	t         *testing.T
	trap      *trap
	program   *program   // the last one of runs
	runs      []*program // all that were started
	config    string
	database  string
	effects   string // a file to which each tool call adds its question's id
	started   string // a FIFO into which the tool calls that wait write it, too
	held      string // a FIFO on which they wait
	tools     chan string
	questions []*question
	hits      map[string]int         // kills by state
	doubtful  map[string]bool        // ids of questions whose answer was on its way at a kill
	looking   map[sessions.RowID]int // these answers, and how many programs were started until the last such kill
	unknown   map[string]bool        // ids of tool calls that were open at a kill
	again     map[string]bool        // ids of questions whose answer was sent again by button
}

// question is one person's only message: the assertions stay simple.
type question struct {
	id   string
	kind string // plain; quick: it calls a tool; hold: it calls a tool that does not end
	seat seat

	blind bool // the platform cannot be looked through
}

func (q *question) text() string   { return "question-" + q.id + " " + q.kind }
func (q *question) answer() string { return "answer-" + q.id }
func (q *question) half() string   { return "half-" + q.id } // what the model writes before it falls silent

// asks tells whether the person is asked about an answer in doubt. Telegram has no way to find out what became of it;
// Slack is looked through, and Discord takes a repetition for what it is.
func (q *question) asks() bool { return q.seat.platform == platforms.Telegram || q.blind }

func (q *question) answers() int { return q.seat.count(q.answer()) }

// offers returns the messages that offer to send the answer again.
func (q *question) offers() (with []sim.Message) {
	for _, m := range q.seat.stage.Visible(q.seat.chat) {
		if len(m.Buttons) > 0 && m.Buttons[0][0].Label == "Send it again" {
			with = append(with, m)
		}
	}
	return with
}

func newDrill(t *testing.T, kills int) *drill {
	folder := t.TempDir()
	d := &drill{
		t: t, trap: &trap{}, database: filepath.Join(folder, "data", "state", "talaria.db"),
		effects: filepath.Join(folder, "effects"), started: filepath.Join(folder, "started"), held: filepath.Join(folder, "held"),
		tools: make(chan string, 10), hits: map[string]int{}, looking: map[sessions.RowID]int{},
		doubtful: map[string]bool{}, unknown: map[string]bool{}, again: map[string]bool{},
	}
	d.services = serveAll(t, kills, d.reply, d.watch)
	d.config = d.services.config(t, filepath.Join(folder, "data"), `[tools]
toolsets = ["files", "terminal"]
approval = "off"
sandbox = "off"
[delivery]
stream = "native"
`)
	d.openPipes()
	return d
}

// openPipes opens both FIFOs for reading and writing, so that neither side ever waits for the other to open them.
func (d *drill) openPipes() {
	open := func(path string) *os.File {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			d.t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		return f
	}
	started, held := open(d.started), open(d.held)
	var reading sync.WaitGroup
	reading.Go(func() {
		line := make([]byte, 4)
		for {
			if _, err := io.ReadFull(started, line); err != nil {
				return
			}
			d.tools <- string(line[:3])
		}
	})
	d.t.Cleanup(func() {
		_ = held.Close() // ends the tools that still wait
		_ = started.Close()
		reading.Wait()
	})
}

var questionIn = regexp.MustCompile(`question-(\d{3}) (\w+)`)

// reply is the model: it answers each question, after a tool call if the question's kind wants one.
func (d *drill) reply(req demo.Request) demo.Response {
	var asked []string
	called := false
	for _, m := range req.Messages {
		if found := questionIn.FindStringSubmatch(m.Text()); found != nil && m.Role == "user" {
			asked = found
		}
		called = called || m.Role == "tool"
	}
	if asked == nil {
		return demo.Fail(http.StatusBadRequest, "nothing was asked")
	}
	id, kind := asked[1], asked[2]
	if d.trap.springs(calling, "question-"+id) {
		return demo.Response{Wait: time.Hour} // ends with the client
	}
	if d.trap.springs(streaming, "question-"+id) {
		return demo.Response{Deltas: []string{"half-" + id, " of it"}, Hang: true}
	}
	if kind == "plain" || called {
		return demo.Say("answer-" + id)
	}
	command := fmt.Sprintf("echo %s >> %q", id, d.effects)
	if kind == "hold" {
		command += fmt.Sprintf("; echo %s > %q; exec cat %q", id, d.started, d.held)
	}
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return demo.Fail(http.StatusInternalServerError, err.Error())
	}
	return demo.CallTool("terminal", string(arguments))
}

func (d *drill) launch() {
	d.program = launch(d.t, nil, "run", "--config", d.config)
	d.runs = append(d.runs, d.program)
}

// start starts the program and waits until it hears what is said on Discord, which repeats nothing to a new session.
func (d *drill) start() {
	d.launch()
	poll(d.t, "the program connects to Discord", func() bool { return d.discord.Connected() == 1 })
}

// kill kills the program, counts the state if the database agrees that it was hit, and returns what else it tells.
func (d *drill) kill(state string, q *question, reached bool) findings {
	d.t.Helper()
	d.program.kill()
	poll(d.t, "Discord notices that the program is gone", func() bool { return d.discord.Connected() == 0 })
	found := d.examine()
	if reached && found.in(state, q) {
		d.hits[state]++
	}
	return found
}

// round brings a question to a state, kills the program there, starts it again and waits for what becomes of it. In
// every other round it kills the program once more while it takes up what was left.
func (d *drill) round(n int, state string, p platforms.Name) {
	d.t.Helper()
	var asked []*question
	if state != accepting && state != committing { // somebody on each other platform is just being answered
		for i, other := range allPlatforms {
			if other != p {
				asked = append(asked, d.ask(other, []string{"plain", "quick"}[(n+i)%2]))
			}
		}
	}
	q, reached := d.bring(n, state, p)
	asked = append(asked, q)

	found := d.kill(state, q, reached)
	if odd(n) && found.unfinished() {
		last := d.stamp()
		d.launch()
		// The first write says that the file was opened.
		found = d.kill(recovering, q, d.written(last, 2+n/2%3, time.Second))
	}
	d.start()
	for _, q := range asked {
		if q.seat.platform == platforms.Discord && !found.accepted[q.id] && !strings.Contains(found.places, q.seat.chat) {
			q.seat.sayAgain(d.t, q.text()) // it was never handed over, nor is it looked for yet
		}
	}
	for _, q := range asked {
		d.settled(q)
	}
	if q.blind {
		d.lookedInto(found.sending[q.id])
		d.slack.Faults().Clear()
	}
}

// ask lets somebody new ask something.
func (d *drill) ask(p platforms.Name, kind string) *question {
	d.t.Helper()
	q := d.newQuestion(p, kind)
	q.seat.say(d.t, q.text())
	return q
}

func (d *drill) newQuestion(p platforms.Name, kind string) *question {
	taken := 0
	for _, q := range d.questions {
		if q.seat.platform == p {
			taken++
		}
	}
	q := &question{id: fmt.Sprintf("%03d", len(d.questions)), kind: kind, seat: d.seat(p, taken)}
	d.questions = append(d.questions, q)
	return q
}

// settled waits until a question has come to an end that the person sees.
func (d *drill) settled(q *question) {
	d.t.Helper()
	what := fmt.Sprintf("question %s (%s, %s) comes to an end", q.id, q.seat.platform, q.kind)
	await(d.t, what, q.seat.stage.Changed, func() bool {
		if d.doubtful[q.id] && q.asks() {
			return len(q.offers()) > 0
		}
		return q.answers() > 0 || d.doubtful[q.id] && len(q.offers()) > 0
	})
}

// lookedInto waits until the program has found out what became of an answer that was on its way, or that it cannot.
func (d *drill) lookedInto(row sessions.RowID) {
	d.t.Helper()
	line := regexp.MustCompile("looked into an answer of unknown outcome.*" + regexp.QuoteMeta(string(row)))
	await(d.t, "the program looks into an answer of unknown outcome", d.program.output.Changed, func() bool {
		return slices.ContainsFunc(d.runs[d.looking[row]:], func(p *program) bool { return line.MatchString(p.output.String()) })
	})
}

// sendAgain presses the button below an answer in doubt that has not arrived.
func (d *drill) sendAgain(p platforms.Name) {
	d.t.Helper()
	for _, q := range d.questions {
		if q.seat.platform != p || q.answers() > 0 {
			continue
		}
		offer := q.offers()[0]
		if _, err := q.seat.stage.Press(q.seat.user, q.seat.chat, offer.ID, offer.Buttons[0][0].Data); err != nil {
			d.t.Fatal(err)
		}
		q.seat.sees(d.t, q.answer())
		await(d.t, "the offer goes away", q.seat.stage.Changed, func() bool { return len(q.offers()) == 0 })
		d.again[q.id] = true
		return
	}
	d.t.Errorf("no answer on %s is in doubt and missing", p)
}
