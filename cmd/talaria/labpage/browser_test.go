package labpage_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// browser is one headless Chromium for all tests that need it.
type browser struct{ ctx context.Context }

// startBrowser skips the test where no Chromium is installed.
func startBrowser(t *testing.T) browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("the page was not tried: no chromium is installed (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // its sandbox refuses to work for root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return browser{ctx}
}

// tab is one open page. Whatever the browser complains about fails the test.
type tab struct {
	t       *testing.T
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error]
}

// open opens a lab in a new tab.
func (b browser) open(t *testing.T, l *lab, width, height int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute) // only ever reached by a failing test
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx, console: chromedp.Console(ctx)}
	t.Cleanup(func() {
		for _, c := range p.complaints() {
			t.Errorf("the browser complains: %s", c)
		}
	})
	p.run(chromedp.EmulateViewport(width, height), chromedp.Navigate(l.url()))
	p.until(`document.querySelector(".link")?.dataset.state === "connected"`)
	return p
}

// complaints returns, once, the errors and warnings of the console so far, uncaught exceptions, and what the browser
// itself objects to: violations of the content security policy and files that do not load.
func (p *tab) complaints() []string {
	const end = "the test has seen enough"
	if err := chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf("console.info(%q)", end))); err != nil {
		return []string{err.Error()}
	}
	var found []string
	for m, err := range p.console {
		switch {
		case err != nil:
			return append(found, err.Error())
		case m.Text == end:
			return found
		case m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException():
			found = append(found, fmt.Sprintf("%s (%s)", m, m.URL))
		}
	}
	return found
}

// tolerate lets complaints pass that a test has caused on purpose.
func (p *tab) tolerate(about string) {
	p.t.Helper()
	for _, c := range p.complaints() {
		if !strings.Contains(c, about) {
			p.t.Errorf("the browser complains: %s", c)
		}
	}
}

func (p *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatalf("driving the page: %v", err)
	}
}

// until waits for a condition on the document; it is looked at whenever the document changes or something scrolls.
func (p *tab) until(condition string) {
	p.t.Helper()
	script := fmt.Sprintf(`new Promise((resolve) => {
		const check = () => { if (%s) { observer.disconnect(); resolve(true); } };
		const observer = new MutationObserver(check);
		observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
		document.addEventListener("scroll", check, true);
		document.addEventListener("change", check, true);
		check();
	})`, condition)
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		body, _ := chromedp.Run(context.WithoutCancel(p.ctx), chromedp.Evaluate[string](`document.body.innerText`))
		p.t.Fatalf("never came true: %s\n%v\nthe page shows:\n%s", condition, err, body)
	}
}

// eval runs a script and returns its result as text; if it is a promise, once that is settled.
func (p *tab) eval(script string) string {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`Promise.resolve(`+script+`).then(String)`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("running %s: %v", script, err)
	}
	return got
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.run(chromedp.Click(chromedp.CSS(selector)))
}

func (p *tab) focus(selector string) {
	p.t.Helper()
	p.run(chromedp.Focus(chromedp.CSS(selector)))
}

// keys gives an element the focus and types.
func (p *tab) keys(selector, keys string) {
	p.t.Helper()
	p.run(chromedp.SendKeys(chromedp.CSS(selector), keys))
}

// write types a text and Enter into the composer of a pane.
func (p *tab) write(composer, text string) {
	p.t.Helper()
	p.keys(composer+" textarea", text)
	p.enter()
}

// enter presses Enter as a keyboard does: without the character that chromedp's kb.Enter adds even if the page has
// taken the key for itself.
func (p *tab) enter() {
	p.t.Helper()
	p.run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
			press := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, NativeVirtualKeyCode: 13}
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, press); err != nil {
				return err
			}
		}
		return nil
	}))
}

// pick chooses the sender of a pane as a person does who uses the keyboard: by the first letter of the name.
func (p *tab) pick(pane, name string) {
	p.t.Helper()
	p.keys(pane+" .persona select", name[:1])
	p.until(fmt.Sprintf(`document.querySelector("%s .persona select").selectedOptions[0].text.startsWith(%q)`, pane, name))
}

// shows is a condition: an element contains a text.
func shows(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some((n) => n.textContent.includes(%q))`, selector, text)
}

func not(condition string) string { return "!(" + condition + ")" }

func visible(selector string) string {
	return fmt.Sprintf(`document.querySelector(%q)?.checkVisibility() === true`, selector)
}

func all(conditions ...string) string { return "(" + strings.Join(conditions, ") && (") + ")" }
