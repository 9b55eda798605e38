package gateway_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// patience is how much virtual time "expect" waits.
const patience = 3 * time.Minute

// run plays a script, one line a step:
//
//	alice dm: TEXT           somebody writes; places are dm, dm2, dmx, group, thread; "@bot " in front mentions the bot;
//	                         a leading / becomes ! on Slack
//	alice dm file NAME: TEXT with an attached file: the script's section "upload/NAME" (of a .png, base64), else some text
//	alice edits dm: OLD => NEW
//	alice deletes dm: TEXT
//	alice presses dm: LABEL  the newest button of that label
//	expect dm: TEXT          waits until a message of the bot contains it
//	never dm: TEXT           no message of the bot contains it
//	count dm: N              the bot has this many messages
//	draft dm: TEXT           what the bot is still writing shows as this, now; "none" = nothing shows
//	noted: TEXT              the last press was answered with a note that contains it
//	typing dm: yes|no
//	sleep DURATION           lets virtual time pass
//	release                  lets the model go on where its step says hold
//	calls N                  the model has been called so often
//	forbid NAME              from the next start on somebody may not use the bot any more
//	logged: TEXT             the gateway's log contains it
//	shadowed: WORDS          a line of the shadow file contains them all
//	fault send|edit|delete|draft|file|find|findthread|poll KIND [DURATION] [xN]   the next such call, or the next N, goes wrong: 429, 500, cut, lose, html,
//	                         denied, gone, slow (it takes the duration)
//	migrate group CHAT       Telegram makes another chat of it; the old one is "before"
//	unfault                  no more of these
//	lag DURATION             Slack shows new messages to look-ups only so much later
//	duplicate N              the next N events come twice
//	prompt: TEXT             the system prompt of the last model call contains it; noprompt: it does not
//	file NAME: TEXT          the only work folder holds this file with this one line; "gone" = it does not
//	write NAME: TEXT         somebody writes that file
//	stop, start              the same in two steps
//	forget                   Slack gives up delivering what it has not delivered yet
//	frozen                   the store takes nothing any more, while the gateway goes on
//	die                      the gateway ends without writing anything down any more
//	crash                    the same, and it starts again
//	restart                  the gateway stops, and starts again over the same store
func (r *rig) run(script string) {
	r.t.Helper()
	n := 0
	for line := range strings.Lines(script) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.step(line); err != nil {
			r.t.Fatalf("script line %d, %q: %v\nseen so far:\n%s", n, line, err, r.seen())
		}
	}
	time.Sleep(30 * time.Second)
	r.settle()
}

func (r *rig) step(line string) error {
	head, text, _ := strings.Cut(line, ": ")
	head = strings.TrimSuffix(head, ":")
	words := strings.Fields(head)
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "expect":
		return r.expect(arg(1), text)
	case "never":
		r.settle()
		if r.shows(arg(1), text) {
			return fmt.Errorf("it shows")
		}
		return nil
	case "count":
		return r.count(arg(1), text)
	case "draft":
		return r.draft(arg(1), text)
	case "noted":
		return r.noted(text)
	case "prompt", "noprompt":
		r.model.mu.Lock()
		defer r.model.mu.Unlock()
		system := r.model.asked[len(r.model.asked)-1].System
		if strings.Contains(system, text) != (words[0] == "prompt") {
			return fmt.Errorf("the prompt is\n%s", system)
		}
		return nil
	case "logged":
		if !strings.Contains(r.log.String(), text) {
			return fmt.Errorf("it is not in the log")
		}
		return nil
	case "shadowed":
		return r.shadowed(text)
	case "typing":
		chat, thread := r.place(arg(1))
		if shows := r.world.stage.Typing(chat, thread); shows != (text == "yes") {
			return fmt.Errorf("typing shows: %v", shows)
		}
		return nil
	case "sleep":
		d, err := time.ParseDuration(arg(1))
		time.Sleep(d)
		r.settle()
		return err
	case "release":
		r.model.release()
		r.settle()
		return nil
	case "calls":
		r.settle()
		r.model.mu.Lock()
		defer r.model.mu.Unlock()
		if fmt.Sprint(r.model.calls) != arg(1) {
			return fmt.Errorf("the model was called %d times", r.model.calls)
		}
		return nil
	case "forbid":
		r.cfg.Access.Users[r.world.name] = slices.DeleteFunc(r.cfg.Access.Users[r.world.name], func(id string) bool { return id == r.world.users[arg(1)] })
		return nil
	case "file", "write":
		return r.file(words[0], arg(1), text)
	case "fault":
		return r.fault(arg(1), arg(2), words[min(3, len(words)):])
	case "stop":
		r.stop()
		return nil
	case "start":
		r.start()
		return nil
	case "forget":
		if s, ok := r.world.stage.(interface{ Forget() }); ok {
			s.Forget()
		}
		return nil
	case "migrate":
		from := r.world.places[arg(1)]
		r.world.places[arg(1)], r.world.places["before"] = arg(2), from
		return r.world.stage.(interface{ Migrate(from, to string) error }).Migrate(from, arg(2))
	case "unfault":
		r.world.stage.Faults().Clear()
		return nil
	case "lag":
		d, err := time.ParseDuration(arg(1))
		r.world.stage.(interface{ SetLag(time.Duration) }).SetLag(d)
		return err
	case "duplicate":
		n, err := strconv.Atoi(arg(1))
		r.world.stage.Faults().Events.Duplicate(n)
		return err
	case "frozen":
		r.mortal.dead.Store(true)
		return nil
	case "die":
		r.crash()
		return nil
	case "crash":
		r.crash()
		r.start()
		return nil
	case "restart":
		r.stop()
		r.start()
		return nil
	}
	return r.person(words, text)
}

// person plays a line that begins with somebody's name.
func (r *rig) person(words []string, text string) error {
	user := r.world.users[words[0]]
	if user == "" || len(words) < 2 {
		return fmt.Errorf("no such step")
	}
	defer r.settle()
	text = expandRepeat(text)
	stage := r.world.stage
	switch words[1] {
	case "edits":
		chat, _ := r.place(words[2])
		old, fresh, _ := strings.Cut(text, " => ")
		id, err := r.find(chat, user, old)
		if err != nil {
			return err
		}
		return stage.EditAs(user, chat, id, fresh)
	case "deletes":
		chat, _ := r.place(words[2])
		id, err := r.find(chat, user, text)
		if err != nil {
			return err
		}
		return stage.DeleteAs(user, chat, id)
	case "presses":
		return r.press(user, words[2], text)
	}
	chat, thread := r.place(words[1])
	say := sim.Say{User: user, Chat: chat, Thread: thread}
	say.Text, say.Mention = strings.CutPrefix(text, "@bot ")
	if r.world.name == platforms.Slack && commandLine.MatchString(say.Text) {
		say.Text = "!" + say.Text[1:]
	}
	if len(words) == 4 && words[2] == "file" {
		say.File, say.Data = words[3], r.upload(words[3])
	}
	id, err := stage.Say(say)
	if err == nil && words[1] == "thread" && thread == "" {
		r.threads["thread"] = id
	}
	return err
}

// upload is the content of a file that somebody sends, nil if the script does not care.
func (r *rig) upload(name string) []byte {
	text := section(r.script, "upload/"+name)
	switch {
	case text == "":
		return nil
	case strings.HasSuffix(name, ".png"):
		content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			r.t.Fatal(err)
		}
		return content
	}
	return []byte(text)
}

// place returns the chat and thread that a script's place stands for.
func (r *rig) place(name string) (chat, thread string) {
	if name == "thread" {
		if r.world.thread != "" {
			return r.world.forum, r.world.thread
		}
		return r.world.forum, r.threads["thread"]
	}
	chat = r.world.places[name]
	if chat == "" {
		r.t.Fatalf("no place %q", name)
	}
	return chat, ""
}

func (r *rig) find(chat, user, text string) (string, error) {
	for _, m := range slices.Backward(r.world.stage.Visible(chat)) {
		if m.User == user && strings.Contains(m.Visible, text) {
			return m.ID, nil
		}
	}
	return "", fmt.Errorf("no such message")
}

func (r *rig) press(user, place, label string) error {
	chat, _ := r.place(place)
	for _, m := range slices.Backward(r.world.stage.Visible(chat)) {
		for _, row := range m.Buttons {
			for _, b := range row {
				if b.Label == label {
					note, err := r.world.stage.Press(user, chat, m.ID, b.Data)
					r.notes = append(r.notes, note)
					return err
				}
			}
		}
	}
	return fmt.Errorf("no such button")
}

func (r *rig) noted(text string) error {
	if len(r.notes) == 0 {
		return fmt.Errorf("nothing was pressed")
	}
	select {
	case note := <-r.notes[len(r.notes)-1]:
		if !strings.Contains(note, text) {
			return fmt.Errorf("the note is %q", note)
		}
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("there was no note")
	}
}

func (r *rig) expect(place, text string) error {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		changed := r.world.stage.Changed()
		if r.shows(place, text) {
			r.settle()
			return nil
		}
		select {
		case <-changed:
		case <-deadline:
			return fmt.Errorf("it does not show")
		}
	}
}

func (r *rig) shows(place, text string) bool {
	chat, _ := r.place(place)
	for _, m := range r.world.stage.Visible(chat) {
		if m.User == sim.Bot && strings.Contains(m.Visible, text) {
			return true
		}
	}
	return false
}

func (r *rig) count(place, want string) error {
	r.settle()
	chat, _ := r.place(place)
	n := 0
	for _, m := range r.world.stage.Visible(chat) {
		if m.User == sim.Bot && !m.Draft {
			n++
		}
	}
	if fmt.Sprint(n) != want {
		return fmt.Errorf("there are %d", n)
	}
	return nil
}

func (r *rig) draft(place, want string) error {
	r.settle()
	chat, _ := r.place(place)
	shown := "none"
	for _, m := range r.world.stage.Visible(chat) {
		if m.Draft {
			shown = m.Visible
		}
	}
	if shown != want {
		return fmt.Errorf("it shows as %q", shown)
	}
	return nil
}

// file looks at a file of the one work folder that there is, or writes it.
func (r *rig) file(verb, name, text string) error {
	folders, err := os.ReadDir(r.cfg.WorkRoot)
	if err != nil || len(folders) != 1 {
		return fmt.Errorf("%d work folders, error %v", len(folders), err)
	}
	path := filepath.Join(r.cfg.WorkRoot, folders[0].Name(), name)
	if verb == "write" {
		return os.WriteFile(path, []byte(text+"\n"), 0o600)
	}
	content, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err) && text == "gone":
		return nil
	case err != nil:
		return err
	case string(content) != text+"\n":
		return fmt.Errorf("it holds %q", content)
	}
	return nil
}

func (r *rig) fault(call, kind string, more []string) error {
	f := sim.Fault{Method: r.world.send}
	switch call {
	case "edit":
		f.Method = r.world.edit
	case "delete":
		f.Method = map[platforms.Name]string{
			platforms.Telegram: "deleteMessage", platforms.Slack: "chat.delete", platforms.Discord: "DELETE /channels/messages",
		}[r.world.name]
	case "draft":
		f.Method = "sendMessageDraft"
	case "file":
		f.Method = "file"
	case "poll":
		f.Method = "getUpdates"
	case "find", "findthread":
		f.Method = map[string]string{"find": "conversations.history", "findthread": "conversations.replies"}[call]
		if r.world.name == platforms.Discord {
			f.Method = "GET /channels/messages"
		}
	}
	slow := false
	switch kind {
	case "slow":
		slow = true
	case "cut":
		f.Cut = true
	case "lose":
		f.Lose = true
	case "html":
		f.Status, f.HTML = 502, true
	case "gone":
		f.Status, f.Error = 400, "Bad Request: message to edit not found"
		switch r.world.name {
		case platforms.Slack:
			f.Status, f.Error = 0, "message_not_found"
		case platforms.Discord:
			f.Status, f.Error = 404, "10008 Unknown Message"
		}
	case "denied":
		f.Status = 403
		if r.world.name == platforms.Slack {
			f.Status, f.Error = 0, "missing_scope"
		}
	default:
		status, err := strconv.Atoi(kind)
		if err != nil {
			return err
		}
		f.Status = status
	}
	for _, word := range more {
		var err error
		if times, ok := strings.CutPrefix(word, "x"); ok {
			f.Times, err = strconv.Atoi(times)
		} else {
			f.RetryAfter, err = time.ParseDuration(word)
		}
		if err != nil {
			return err
		}
	}
	if slow {
		f.Delay, f.RetryAfter = f.RetryAfter, 0
	}
	r.world.stage.Faults().Add(f)
	return nil
}

var commandLine = regexp.MustCompile(`^/(approve|deny|new|stop|compress|status|memory|help|busy|queue|steer|sethome|bg|cron|undo|retry|branch|sessions|resume|title|reload|diff|rollback|context|usage|search|whoami|version|progress|model|users|restart)( |$)`)
