package labpage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/talaria-agent/talaria/platforms/sim"
)

func TestPage(t *testing.T) {
	b := startBrowser(t)
	const wide, high = 1600, 900
	for name, try := range map[string]func(*testing.T, *tab, *lab){
		"writing in each pane":           tryWriting,
		"an edit keeps the element":      tryEditInPlace,
		"a press reaches the stage":      tryPress,
		"picking the sender":             tryStranger,
		"own messages change":            tryOwnMessages,
		"native commands":                tryCommands,
		"threads":                        tryThreads,
		"a refusal keeps the text":       tryRefusal,
		"faults and suggestions":         tryBar,
		"reading above is not disturbed": tryScrolling,
		"only safe elements are drawn":   trySanitizing,
		"what was sent comes into sight": tryAsSent,
		"the end of the lab is told":     tryEnd,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			try(t, b.open(t, l, wide, high), l)
		})
	}
	t.Run("narrow", func(t *testing.T) {
		l := newLab(t)
		tryTabs(t, b.open(t, l, 390, 844), l)
	})
	for _, width := range []int64{1100, 1280, 1440} {
		t.Run(fmt.Sprintf("nothing is cut off at %d", width), func(t *testing.T) {
			l := newLab(t)
			tryFit(t, b.open(t, l, width, high))
		})
	}
	t.Run("the policy forbids inline scripts", func(t *testing.T) {
		l := newLab(t)
		tryPolicy(t, b.open(t, l, wide, high))
	})
}

func tryWriting(t *testing.T, p *tab, l *lab) {
	p.until(`document.title === "Talaria lab" && !location.href.includes("token")`)
	p.write(".telegram", "hello")
	expect(t, l.telegram, `say 1 t1/ "hello" mention=false reply= file=`)
	p.until(shows(".telegram .own .body", "hello"))
	p.write(".slack", "good morning")
	expect(t, l.slack, `say 1 sc/ "good morning" mention=true reply= file=`)
	p.until(shows(".slack .own .body", "@Talaria good morning"))
	p.click(".discord .tool-at")
	p.write(".discord", "not for the bot")
	expect(t, l.discord, `say 1 dc/ "not for the bot" mention=false reply= file=`)
	p.until(`document.querySelector(".discord textarea").value === ""`)

	id := l.telegram.add(sim.Message{Chat: "t1", User: sim.Bot, Visible: "what can I do?"})
	p.until(shows(".telegram .by-bot .body", "what can I do?"))
	p.focus(`.telegram [data-id="` + id + `"]`)
	p.click(`.telegram [data-id="` + id + `"] [data-tool=reply]`)
	p.click(".telegram .tool-plus")
	p.write(".telegram", "read this")
	expect(t, l.telegram, `say 1 t1/ "read this" mention=false reply=`+id+` file=notes.txt`)
	p.until(all(shows(".telegram .own .quote", "what can I do?"), shows(".telegram .own .file", "notes.txt")))
}

func tryEditInPlace(t *testing.T, p *tab, l *lab) {
	for pane, s := range map[string]*stage{"telegram": l.telegram, "slack": l.slack, "discord": l.discord} {
		chat := map[string]string{"telegram": "t1", "slack": "sc", "discord": "dc"}[pane]
		id := s.add(sim.Message{
			Chat: chat, User: sim.Bot, HTML: "<b>Working</b>", Visible: "Working", Buttons: [][]sim.Button{{{Label: "Stop", Data: "stop"}}},
		})
		message := "." + pane + ` [data-id="` + id + `"]`
		p.until(shows(message+" b", "Working"))
		p.eval(`window.before = [document.querySelector('` + message + `'), document.querySelector('` + message + ` button[data-press]')]`)
		if err := s.change(id, func(m *sim.Message) { m.HTML, m.Edited = "<b>Done</b>", true }); err != nil {
			t.Fatal(err)
		}
		p.until(all(shows(message+" b", "Done"), visible(message+" .edited")))
		p.until(`document.querySelector('` + message + `') === before[0] && document.querySelector('` + message + ` button[data-press]') === before[1]`)
		p.until(`document.querySelectorAll(".` + pane + ` .message").length === 1`)
	}
	l.discord.setTyping("dc", "", true)
	p.until(shows(".discord .typing", "Talaria is typing"))
	l.discord.setTyping("dc", "", false)
	p.until(not(shows(".discord .typing", "Talaria is typing")))
}

func tryPress(t *testing.T, p *tab, l *lab) {
	buttons := [][]sim.Button{{{Label: "Stop", Data: "stop:1"}, {Label: "Go", Data: "go:1"}}}
	l.telegram.note, l.slack.note, l.discord.note = "Noted on Telegram", "Noted on Slack", "Noted on Discord"
	at := l.telegram.add(sim.Message{Chat: "t1", User: sim.Bot, Visible: "Working", Buttons: buttons})
	as := l.slack.add(sim.Message{Chat: "sc", User: sim.Bot, Visible: "Working", Buttons: buttons})
	ad := l.discord.add(sim.Message{Chat: "dc", User: sim.Bot, Visible: "Working", Buttons: buttons})
	for _, pane := range []string{".telegram", ".slack", ".discord"} {
		p.until(visible(pane + ` [data-press="go:1"]`))
		p.click(pane + ` [data-press="go:1"]`)
	}
	expect(t, l.telegram, "press 1 t1 "+at+" go:1")
	expect(t, l.slack, "press 1 sc "+as+" go:1")
	expect(t, l.discord, "press 1 dc "+ad+" go:1")
	p.until(all(shows(".telegram .toast", "Noted on Telegram"), shows(".slack .note", "Noted on Slack"),
		shows(".discord .note", "Noted on Discord")))
	p.click(".slack .dismiss")
	p.until(`document.querySelectorAll(".slack .note").length === 0`)
}

func tryStranger(t *testing.T, p *tab, l *lab) {
	for _, pane := range []string{".telegram", ".slack", ".discord"} {
		p.until(not(visible(pane + " .stranger")))
		p.pick(pane, "Mallory")
		p.until(visible(pane + " .stranger"))
	}
	p.write(".telegram", "let me in")
	expect(t, l.telegram, `say 9 t9/ "let me in" mention=false reply= file=`)
	p.write(".slack", "me too")
	expect(t, l.slack, `say 9 sc/ "me too" mention=true reply= file=`)
	p.pick(".slack", "Ada")
	p.until(all(not(visible(".slack .stranger")), shows(".slack .other .name", "Mallory")))
}

func tryOwnMessages(t *testing.T, p *tab, l *lab) {
	id := l.discord.add(sim.Message{Chat: "dc", User: "1", Visible: "first"})
	l.discord.add(sim.Message{Chat: "dc", User: sim.Bot, Visible: "answer"})
	p.until(shows(".discord .by-bot", "answer"))
	p.keys(".discord textarea", kb.ArrowUp)
	p.until(`document.querySelector(".discord textarea").value === "first"`)
	p.write(".discord", " of all")
	expect(t, l.discord, `edit 1 dc `+id+` "first of all"`)
	p.until(all(shows(".discord .own .body", "first of all"), shows(".discord .own .meta", "edited")))
	p.focus(".discord .own")
	p.click(".discord .own [data-tool=trash]")
	expect(t, l.discord, `delete 1 dc `+id)
	p.until(`document.querySelectorAll(".discord .own").length === 0`)
	p.until(`document.querySelectorAll(".discord .by-bot [data-tool=edit]").length === 0`)
}

func tryCommands(t *testing.T, p *tab, l *lab) {
	l.discord.note = "fine"
	p.click(".discord .tool-slash")
	p.until(visible(".discord .menu"))
	p.focus(".discord textarea")
	p.enter()
	expect(t, l.discord, `invoke 1 dc/ status ""`)
	p.until(shows(".discord .note", "fine"))
	p.keys(".telegram textarea", "/q")
	p.until(shows(".telegram .menu", "/queue"))
	p.enter()
	p.until(`document.querySelector(".telegram textarea").value === "/queue "`)
	p.write(".telegram", "sweep the floor")
	expect(t, l.telegram, `say 1 t1/ "/queue sweep the floor" mention=false reply= file=`)
	p.write(".discord", "/unknown thing")
	expect(t, l.discord, `say 1 dc/ "/unknown thing" mention=true reply= file=`)
}

func tryThreads(t *testing.T, p *tab, l *lab) {
	p.write(".slack", "look into it")
	expect(t, l.slack, `say 1 sc/ "look into it" mention=true reply= file=`)
	p.until(shows(".slack .own", "look into it"))
	l.slack.add(sim.Message{Chat: "sc", Thread: "1", User: sim.Bot, Visible: "on it"})
	p.until(all(visible(".slack .thread-panel"), shows(".slack .thread-panel .by-bot", "on it"), shows(".slack .replies", "1 reply")))
	p.write(".slack .thread-panel", "thanks")
	expect(t, l.slack, `say 1 sc/1 "thanks" mention=false reply= file=`)
	p.until(shows(".slack .replies", "2 replies"))
	p.click(".slack .thread-panel .close")
	p.until(not(visible(".slack .thread-panel")))

	l.discord.add(sim.Message{Chat: "dc", Thread: "77", User: sim.Bot, Visible: "a thread of its own"})
	p.until(shows(".discord .chats .sub", "a thread of its own"))
	opener := l.discord.add(sim.Message{Chat: "dc", User: sim.Bot, Visible: "shall we go on elsewhere?"})
	p.until(shows(".discord .messages", "shall we go on elsewhere?"))
	p.focus(`.discord [data-id="` + opener + `"]`)
	p.click(`.discord [data-id="` + opener + `"] [data-tool=thread]`)
	p.until(`document.querySelector(".discord textarea").placeholder === "Message shall we go on elsewhere?"`)
	p.click(".discord .chats .sub button")
	p.until(shows(".discord .messages", "a thread of its own"))
	p.write(".discord", "hello there")
	expect(t, l.discord, `say 1 dc/77 "hello there" mention=false reply= file=`)
}

func tryRefusal(t *testing.T, p *tab, l *lab) {
	p.write(".slack", "refuse me")
	p.until(shows(".slack .toast.bad", "too long for this platform"))
	p.until(`document.querySelector(".slack textarea").value === "refuse me"`)
	p.tolerate("422")
}

func tryBar(t *testing.T, p *tab, l *lab) {
	p.click(".slack textarea")
	p.until(shows(".where", "Slack"))
	p.click(".chip")
	p.until(`document.activeElement.closest(".slack") && document.activeElement.value === "list files"`)
	p.click(`[data-fault="500"]`)
	p.until(shows(".slack .toast", "internal error"))
	if f, ok := l.slack.Faults().Take("chat.postMessage", "sc"); !ok || f.Status != 500 {
		t.Errorf("the next message meets %v, want a status 500", f)
	}
}

func tryScrolling(t *testing.T, p *tab, l *lab) {
	for range 40 {
		l.telegram.add(sim.Message{Chat: "t1", User: sim.Bot, Visible: strings.Repeat("many words ", 20)})
	}
	const atEnd = `(() => { const s = document.querySelector(".telegram .scroller"); return s.scrollHeight > s.clientHeight && s.scrollHeight - s.scrollTop - s.clientHeight < 2; })()`
	p.until(all(`document.querySelectorAll(".telegram .message").length === 40`, atEnd))
	p.eval(`document.querySelector(".telegram .scroller").scrollTop = 100`)
	p.until(`document.querySelector(".telegram .scroller").scrollTop === 100`)
	p.eval(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))`) // the event has fired
	l.telegram.add(sim.Message{Chat: "t1", User: sim.Bot, Visible: "the latest"})
	p.until(all(shows(".telegram .down", "1"), visible(".telegram .down")))
	p.until(`document.querySelector(".telegram .scroller").scrollTop === 100`)
	p.click(".telegram .down")
	p.until(all(atEnd, not(visible(".telegram .down"))))
}

func trySanitizing(t *testing.T, p *tab, l *lab) {
	l.slack.add(sim.Message{
		Chat: "sc", User: sim.Bot, Visible: "x",
		HTML: `<b onclick="bad()">bold</b><img src=x onerror="bad()"><script>bad()</script><iframe src="//x"></iframe>` +
			`<a href="javascript:bad()">link</a><a href="https://go.dev/">go</a><span class="mention persona" style="color:red">@you</span>` +
			`<form action="//x"><button>press</button></form>`,
	})
	p.until(shows(".slack .by-bot .body", "bold"))
	html := p.eval(`document.querySelector(".slack .by-bot .body").innerHTML`)
	want := `<b>bold</b><a target="_blank" rel="noopener noreferrer">link</a>` +
		`<a href="https://go.dev/" target="_blank" rel="noopener noreferrer">go</a><span class="mention">@you</span>press`
	p.tolerate("Content Security Policy") // which stops what the message tries
	if html != want {
		t.Errorf("drawn  %s\nwanted %s", html, want)
	}
}

// inSight is a condition: an element ends inside the list of messages that holds it.
func inSight(selector string) string {
	return fmt.Sprintf(`(() => {
		const node = document.querySelector(%q);
		return node.checkVisibility() && node.getBoundingClientRect().bottom <= node.closest(".scroller").getBoundingClientRect().bottom;
	})()`, selector)
}

func tryAsSent(t *testing.T, p *tab, l *lab) {
	p.until(all(shows(".telegram .nothing", "Try something."), visible(".telegram .nothing")))
	var id string
	for i := range 30 {
		id = l.telegram.add(sim.Message{Chat: "t1", User: sim.Bot, Visible: "message", Wire: fmt.Sprintf("<b>message</b> %d\n\n\n", i)})
	}
	message := `.telegram [data-id="` + id + `"]`
	p.until(shows(message, "message"))
	p.focus(message)
	p.click(message + " [data-tool=code]")
	p.until(all(shows(message+" .wire", "<b>message</b> 29"), inSight(message+" .wire"), not(visible(".telegram .nothing"))))
}

func tryEnd(t *testing.T, p *tab, l *lab) {
	l.discord.setTyping("dc", "", true)
	p.until(shows(".discord .typing", "Talaria is typing"))
	l.end()
	p.until(not(shows(".discord .typing", "Talaria is typing")))
	p.until(all(visible(".banner"), shows(".banner", "seems to have ended")))
	p.tolerate("net::ERR")
}

func tryFit(t *testing.T, p *tab) {
	for _, pane := range []string{"#pane-telegram", "#pane-slack", "#pane-discord"} {
		p.pick(pane, "Mallory")
		p.until(visible(pane + " .stranger"))
		p.until(fmt.Sprintf(`(() => {
			const pane = document.querySelector(%q);
			const right = pane.getBoundingClientRect().right;
			return [".persona select", ".frame", ".send"].every((s) => pane.querySelector(s).getBoundingClientRect().right <= right);
		})()`, pane))
	}
}

func tryTabs(t *testing.T, p *tab, l *lab) {
	p.until(all(visible("#pane-telegram"), not(visible("#pane-slack")), not(visible("#pane-discord"))))
	l.slack.add(sim.Message{Chat: "sc", User: sim.Bot, Visible: "over here"})
	p.until(shows(`.tabs [data-platform="slack"] .badge`, "1"))
	p.click(`.tabs [data-platform="slack"]`)
	p.until(all(visible("#pane-slack"), not(visible("#pane-telegram")), not(visible(`.tabs [data-platform="slack"] .badge`)),
		visible(".slack textarea")))
	p.write(".slack", "on the phone")
	expect(t, l.slack, `say 1 sc/ "on the phone" mention=true reply= file=`)
	p.keys(`.tabs [data-platform="slack"]`, kb.ArrowRight)
	p.until(all(visible("#pane-discord"), `document.activeElement.dataset.platform === "discord"`))
	p.until(`document.documentElement.scrollWidth <= innerWidth`)
}

func tryPolicy(t *testing.T, p *tab) {
	violated := p.eval(`new Promise((resolve) => {
		document.addEventListener("securitypolicyviolation", (e) => resolve(e.violatedDirective));
		const script = document.createElement("script");
		script.textContent = "window.ran = true";
		document.body.append(script);
	})`)
	p.until(`window.ran === undefined`)
	if violated != "script-src-elem" {
		t.Errorf("violated %q, want script-src-elem", violated)
	}
	if len(p.complaints()) == 0 {
		t.Error("the violation was not heard, so none would be")
	}
}
