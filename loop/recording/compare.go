package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// clockHint is the part of a hint that is about the time.
var clockHint = regexp.MustCompile(`^It is [^.]*\.`)

// compare compares a request with the recorded one, part by part.
func (p *player) compare(l numbered, model string, req loop.Request) {
	want := l.Request
	p.mu.Lock()
	before := p.before[l.Lane]
	recorded := loop.Request{
		System: before.System, Tools: before.Tools, Hint: want.Hint, NoTools: want.NoTools, MaxOutput: want.MaxOutput,
		Messages: slices.Concat(before.Messages[:min(want.Keep, len(before.Messages))], want.Messages),
	}
	if want.System != nil {
		recorded.System = *want.System
	}
	if want.Tools != nil {
		recorded.Tools = json.RawMessage(*want.Tools)
	}
	p.before[l.Lane] = recorded
	p.mu.Unlock()
	at := l.index
	what := "request " + fmt.Sprint(l.N)
	if l.Lane != "" {
		what += " of " + l.Lane
	}
	if model != want.Model {
		p.differ(at, what+": model", want.Model, model)
	}
	p.same(at, what+": system prompt", recorded.System, req.System)
	p.same(at, what+": tools", plainJSON(recorded.Tools), plainJSON(req.Tools))
	for i := range max(len(recorded.Messages), len(req.Messages)) {
		p.same(at, fmt.Sprintf("%s: message %d", what, i+1), element(recorded.Messages, i), element(req.Messages, i))
	}
	p.same(at, what+": hint", clockHint.ReplaceAllString(recorded.Hint, ""), clockHint.ReplaceAllString(req.Hint, ""))
	p.same(at, what+": settings", fmt.Sprint(recorded.NoTools, recorded.MaxOutput), fmt.Sprint(req.NoTools, req.MaxOutput))
}

// same notes a difference between two texts, once neither has secrets.
func (p *player) same(i int, what, want, got string) {
	if want == got {
		return
	}
	if want, got = p.redact(want), p.redact(got); want != got {
		want, got = around(want, got)
		p.differ(i, what, want, got)
	}
}

func element(messages []sessions.Message, i int) string {
	if i >= len(messages) {
		return "none"
	}
	text, err := json.Marshal(messages[i])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// plainJSON returns JSON with the keys of its objects in order.
func plainJSON(text []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(out)
}

// around returns the places where two texts begin to differ.
func around(a, b string) (string, string) {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-60)
	mark := ""
	if from > 0 {
		mark = "… "
	}
	return mark + clip(a[from:]), mark + clip(b[from:])
}

// clip returns the beginning of a text.
func clip(text string) string {
	const most = 400
	if len(text) <= most {
		return text
	}
	return string([]rune(text[:most])) + " …"
}
