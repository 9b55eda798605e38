package terminal

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// yard is a conversation with commands in the background.
type yard struct {
	*bench
	processes *Processes
	manage    tools.Tool
	folder    string
	scope     tools.Scope
}

func newYard(t *testing.T, options Options) *yard {
	t.Helper()
	y := &yard{bench: &bench{t: t, work: t.TempDir()}, folder: t.TempDir()}
	y.open(options)
	y.scope = tools.Scope{Conversation: "c", Requester: "alice", Reply: "here", Work: y.work, CallID: "1"}
	return y
}

// open starts the program, as it were.
func (y *yard) open(options Options) {
	y.t.Helper()
	p, err := NewProcesses(y.folder, "", options.Sandbox, slog.New(slog.DiscardHandler))
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(p.Close)
	options.Processes = p
	set, err := New(options)
	if err != nil || len(set) != 2 {
		y.t.Fatal(set, err)
	}
	y.processes, y.tool, y.manage = p, set[0], set[1]
}

// launch starts a command in the background and returns its id.
func (y *yard) launch(a arguments) string {
	y.t.Helper()
	a.Background = true
	raw, err := json.Marshal(a)
	if err != nil {
		y.t.Fatal(err)
	}
	got, err := y.tool.Call(y.t.Context(), y.scope, raw)
	if err != nil || got.Failed {
		y.t.Fatalf("%+v, %v", got, err)
	}
	return regexp.MustCompile(`p-[a-z0-9]+`).FindString(got.Text)
}

func (y *yard) do(a processArguments) tools.Result {
	y.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		y.t.Fatal(err)
	}
	got, err := y.manage.Call(y.t.Context(), y.scope, raw)
	if err != nil {
		y.t.Fatal(err)
	}
	return got
}

// says polls until a command has said a text.
func (y *yard) says(id, text string) {
	y.t.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), text) {
		got := y.do(processArguments{Action: "poll", ID: id, Timeout: 60})
		if all.WriteString(got.Text); got.Failed || strings.Contains(got.Text, "[ended") && !strings.Contains(all.String(), text) {
			y.t.Fatalf("it does not say %q: %s", text, all.String())
		}
	}
}

func TestBackground(t *testing.T) {
	y := newYard(t, Options{})
	if got := y.do(processArguments{Action: "list"}); !strings.Contains(got.Text, "Nothing runs") {
		t.Errorf("%+v", got)
	}
	id := y.launch(arguments{Command: "echo one; read -r line; echo got $line; read -r line; exit 3"})
	y.says(id, "one\n")
	if got := y.do(processArguments{Action: "poll", ID: id}); !strings.HasPrefix(got.Text, "[nothing new]\n[running for ") {
		t.Errorf("%+v", got)
	}
	if got := y.do(processArguments{Action: "write", ID: id, Input: "two\n"}); got.Failed {
		t.Errorf("%+v", got)
	}
	y.says(id, "got two\n")
	if got := y.do(processArguments{Action: "list"}); !strings.Contains(got.Text, id+" `echo one; read -r line;") || !strings.Contains(got.Text, "running for") {
		t.Errorf("%+v", got)
	}
	if got := y.do(processArguments{Action: "log", ID: id}); !strings.HasPrefix(got.Text, "one\ngot two\n[running for ") {
		t.Errorf("%+v", got)
	}
	if got := y.do(processArguments{Action: "write", ID: id, Close: true}); got.Failed {
		t.Errorf("%+v", got)
	}
	if got := y.do(processArguments{Action: "wait", ID: id}); !strings.HasPrefix(got.Text, "[nothing new]\n[ended: exit code 3 after ") {
		t.Errorf("%+v", got)
	}
	if text, _ := y.processes.News("c"); text != "" {
		t.Errorf("the model has seen it, and is told all the same: %s", text)
	}
	for _, action := range []string{"write", "kill"} { // of what has ended
		if got := y.do(processArguments{Action: action, ID: id, Input: "x\n"}); got.Failed != (action == "write") {
			t.Errorf("%s: %+v", action, got)
		}
	}
	y.scope.Conversation = "another"
	if got := y.do(processArguments{Action: "log", ID: id}); !got.Failed || strings.Contains(got.Text, "got two") {
		t.Errorf("another conversation sees it: %+v", got)
	}
}

// TestBackgroundKill: kill, the person's stop, the end of the program and the timeout end everything that was started.
func TestBackgroundKill(t *testing.T) {
	for how, end := range map[string]func(y *yard, id string){
		"killed": func(y *yard, id string) { y.do(processArguments{Action: "kill", ID: id}) },
		"stopped by the person": func(y *yard, id string) {
			if got := y.processes.Stop("c", "bob"); len(got) != 0 {
				t.Errorf("bob ended %v", got)
			}
			if got := y.processes.Stop("c", "alice"); len(got) != 1 || got[0].ID != id {
				t.Errorf("alice ended %v", got)
			}
		},
		"":                            func(y *yard, _ string) { y.processes.Forget("c") },
		"the program ends":            func(y *yard, _ string) { y.processes.Close() },
		"killed: its time was up":     nil,
		"killed by signal 9, killed,": func(*yard, string) {},
	} {
		t.Run(how, func(t *testing.T) {
			y := newYard(t, Options{})
			pipe := y.pipe("pids")
			a := arguments{Command: family + "sleep 1000"}
			if how == "killed: its time was up" {
				a.Timeout = 1
			}
			if how == "killed by signal 9, killed," {
				a.Command = family + "kill -9 $$"
			}
			id := y.launch(a)
			pids := y.readPIDs(pipe)
			if end == nil || how == "killed by signal 9, killed," {
				y.do(processArguments{Action: "wait", ID: id})
			} else {
				end(y, id)
			}
			y.gone(pids)
			got := y.do(processArguments{Action: "list"})
			if how == "" {
				how = "Nothing runs"
			}
			if !strings.Contains(got.Text, how) {
				t.Errorf("%+v", got)
			}
			if len(entries(t, y.work)) != 1 {
				t.Errorf("left over: %v", entries(t, y.work))
			}
		})
	}
}

// TestBackgroundNews: the model is told of an end once, the person if that was asked for, and after a restart of what is
// gone.
func TestBackgroundNews(t *testing.T) {
	y := newYard(t, Options{})
	told := make(chan tools.LeftOver, 9)
	y.processes.Begin(func(over tools.LeftOver) { told <- over })
	id := y.launch(arguments{Command: "echo working; echo done; exit 7", Notify: true})
	over := <-told
	if over.ID != id || over.Conversation != "c" || over.Reply != "here" || over.Last != "working\ndone" || !strings.HasPrefix(over.How, "exit code 7 after ") {
		t.Errorf("%+v", over)
	}
	text, _ := y.processes.News("c")
	if again, _ := y.processes.News("c"); !strings.Contains(text, id) || again != text || !strings.Contains(text, "exit code 7") {
		t.Errorf("%q, again %q", text, again)
	}
	pipe := y.pipe("pids")
	lost := y.launch(arguments{Command: family + "sleep 1000", Notify: true})
	pids := y.readPIDs(pipe)
	y.processes.Close()
	y.gone(pids)
	if len(told) > 0 {
		t.Errorf("the person is told of what the program's end has ended: %v", <-told)
	}

	y.open(Options{})
	y.processes.Begin(func(over tools.LeftOver) { told <- over })
	if first, second := <-told, <-told; first.ID != id || second.ID != lost || second.How != gone {
		t.Errorf("%+v\n%+v", first, second)
	}
	text, saw := y.processes.News("c")
	if !strings.Contains(text, id) || !strings.Contains(text, lost+" `sleep 1000 &") || !strings.Contains(text, gone) {
		t.Errorf("%q", text)
	}
	if got := y.do(processArguments{Action: "log", ID: lost}); !strings.Contains(got.Text, "not known any more") {
		t.Errorf("%+v", got)
	}
	saw()
	if text, _ := y.processes.News("c"); text != "" || len(entries(t, y.folder)) > 0 {
		t.Errorf("%q, %v", text, entries(t, y.folder))
	}
	if err := os.WriteFile(filepath.Join(y.folder, "p-x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	y.open(Options{}) // what cannot be read stops nothing
}

// TestBackgroundBounds: the number is bounded, and so is the output in memory.
func TestBackgroundBounds(t *testing.T) {
	y := newYard(t, Options{})
	var last string
	for range maxRunning {
		last = y.launch(arguments{Command: "cat"})
	}
	raw := json.RawMessage(`{"command":"cat","background":true}`)
	if got, err := y.tool.Call(t.Context(), y.scope, raw); err != nil || !got.Failed || !strings.Contains(got.Text, "8 commands run in the background already") {
		t.Errorf("%+v, %v", got, err)
	}
	y.do(processArguments{Action: "kill", ID: last})
	id := y.launch(arguments{Command: "seq 1 200000; sleep 1000"})
	y.says(id, "\n200000\n")
	got := y.do(processArguments{Action: "log", ID: id})
	if len(got.Text) > headBytes+tailBytes+300 || !strings.HasPrefix(got.Text, "1\n2\n") || !strings.Contains(got.Text, "the whole output is in results/terminal-1.txt") {
		t.Errorf("%d bytes", len(got.Text))
	}
	y.processes.mu.Lock()
	o := y.processes.of["c"][maxRunning].out
	y.processes.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if kept := len(o.head) + len(o.tail); kept > headBytes+2*tailBytes {
		t.Errorf("%d bytes are in memory", kept)
	}
}

// TestEndedAreForgotten: what is known of ended commands is bounded.
func TestEndedAreForgotten(t *testing.T) {
	y := newYard(t, Options{})
	for range maxEnded + 3 {
		y.do(processArguments{Action: "wait", ID: y.launch(arguments{Command: "true"})})
	}
	if got := y.do(processArguments{Action: "list"}); strings.Count(got.Text, "exit code 0") != maxEnded {
		t.Errorf("%s", got.Text)
	}
}

// TestPty: a program gets a terminal if it asks for one, in every sandbox, and what is typed on it.
func TestPty(t *testing.T) {
	for name, sandbox := range everySandbox(t) {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, Options{Sandbox: sandbox})
			got, err := y.start(t.Context(), arguments{Command: "[ -t 0 ] && [ -t 1 ] && stty size && (echo tty > /dev/tty) && echo $TERM", Pty: true})
			if err != nil || !strings.HasPrefix(got.Text, "40 120\ntty\nxterm\n[exit code 0") {
				t.Errorf("%+v, %v", got, err)
			}
			id := y.launch(arguments{Command: `read -r -p "name? " name; echo "hello $name"; cat; echo over`, Pty: true})
			y.says(id, "name? ")
			y.do(processArguments{Action: "write", ID: id, Input: "Ada\n"})
			y.says(id, "hello Ada\n")
			y.do(processArguments{Action: "write", ID: id, Close: true})
			y.says(id, "over\n")
			asleep := y.launch(arguments{Command: "echo begun; sleep 1000", Pty: true})
			y.says(asleep, "begun\n")
			y.do(processArguments{Action: "write", ID: asleep, Input: "\x03"})
			if got := y.do(processArguments{Action: "wait", ID: asleep}); !strings.Contains(got.Text, "[ended: ") {
				t.Errorf("ctrl-C: %+v", got)
			}
		})
	}
}

// everySandbox returns those that work here, and none.
func everySandbox(t *testing.T) map[string]Sandbox {
	all := map[string]Sandbox{Off: {}}
	for _, name := range []string{Bubblewrap, Landlock} {
		if s, err := FindSandbox(t.Context(), name, nil); err == nil {
			all[name] = s
		}
	}
	return all
}

// TestLiveOutput: what a command says is told while it runs, in the foreground and while it is waited for.
func TestLiveOutput(t *testing.T) {
	y := newYard(t, Options{})
	pipe, second := y.pipe("go"), y.pipe("on") // one pipe twice could be closed by its first writer under its second reader
	said := make(chan string, 100)
	y.scope.Tell = func(text string) { said <- text }
	heard := func(want string) {
		t.Helper()
		for text := range said {
			if text == want {
				return
			}
		}
	}
	done := make(chan tools.Result, 1)
	command := `printf 'a\nb\nc\n\n\033[1mfour\033[0m\n 10%%\r 20%%'; read -r x < go; echo`
	raw, err := json.Marshal(arguments{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		got, _ := y.tool.Call(t.Context(), y.scope, raw)
		done <- got
	}()
	heard("c\nfour\n 20%")
	if err := os.WriteFile(pipe, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.Failed {
		t.Errorf("%+v", got)
	}
	id := y.launch(arguments{Command: "read -r x < go; echo at last; read -r x < on"})
	go func() { done <- y.do(processArguments{Action: "wait", ID: id}) }()
	if err := os.WriteFile(pipe, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for got := ""; !strings.Contains(got, "at last"); { // whether the wait has begun in time is chance
		got = y.do(processArguments{Action: "log", ID: id}).Text
	}
	if err := os.WriteFile(second, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !strings.Contains(got.Text, "[ended: exit code 0") {
		t.Errorf("%+v", got)
	}
}

// TestJudgeProcess: what is typed is judged as a command would be.
func TestJudgeProcess(t *testing.T) {
	caged := Sandbox{name: "caged", command: Sandbox{}.start}
	for _, test := range []struct {
		options Options
		a       processArguments
		online  bool
		want    tools.Verdict
	}{
		{Options{}, processArguments{Action: "list"}, false, tools.Allow},
		{Options{}, processArguments{Action: "kill", ID: "p"}, false, tools.Allow},
		{Options{}, processArguments{Action: "write", ID: "p", Close: true}, false, tools.Allow},
		{Options{}, processArguments{Action: "write", ID: "p", Input: "ls\n"}, false, tools.AskFirst},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "ls\n"}, false, tools.Allow},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "ls\n"}, true, tools.AskFirst},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "rm -r x\n"}, false, tools.AskFirst},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "rm -"}, false, tools.AskFirst},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "\x1b[A\n"}, false, tools.AskFirst},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "cat <<X\n"}, false, tools.AskFirst},
		{Options{Sandbox: caged}, processArguments{Action: "write", ID: "p", Input: "rm -rf /\n"}, false, tools.DenyAlways},
		{Options{Sandbox: caged, Deny: []string{"ls*"}}, processArguments{Action: "write", ID: "p", Input: "ls\n"}, false, tools.DenyAlways},
	} {
		p := &Processes{of: map[string][]*job{"c": {{LeftRunning: tools.LeftRunning{ID: "p"}, network: test.online}}}}
		tool := &processTool{Processes: p, options: test.options}
		raw, err := json.Marshal(test.a)
		if err != nil {
			t.Fatal(err)
		}
		got := tool.judge(tools.Scope{Conversation: "c", Work: "/d/work/a"}, raw)
		if got.Verdict != test.want || got.Rule != "" || (got.Reason == "") != (got.Verdict == tools.Allow) {
			t.Errorf("%+v: %+v", test.a, got)
		}
	}
	for raw, want := range map[string]int{`{"action":"list"}`: 0, `{"action":"kill"}`: 1, `{"action":"burn"}`: 2, `{"action":"kill","id":"p"}`: 0} {
		if got := checkProcess(json.RawMessage(raw)); len(got) != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
	if got := previewProcess(json.RawMessage(`{"action":"write","id":"p","input":"y\n","close":true}`)); got != "write p: y\n  (and end its input)" {
		t.Errorf("%q", got)
	}
}

// TestFullInput: a program that does not read makes nobody wait for ever.
func TestFullInput(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	r := &running{input: writer}
	if err := r.typed(strings.Repeat("x", 1<<20), false, time.Now().Add(10*time.Millisecond)); !os.IsTimeout(err) {
		t.Errorf("%v", err)
	}
}
