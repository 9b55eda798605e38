package slack

import "strings"

// reader turns the text of an event into what the person wrote.
type reader struct {
	bot  string // user id of the bot
	name string // and what it is called
}

// reading is what a text says.
type reading struct {
	text      string
	mentioned bool // the bot
	other     bool // somebody else
}

// read decodes a text in one pass: tokens in angle brackets become readable, the three entities characters. The mention
// of the bot that leads it is left out, with a colon or comma behind it.
func (r reader) read(raw string) reading {
	var out reading
	for {
		rest, ok := r.leading(raw)
		if !ok {
			break
		}
		out.mentioned, raw = true, rest
	}
	var b strings.Builder
	for raw != "" {
		switch {
		case raw[0] == '<' && strings.IndexByte(raw, '>') > 1:
			end := strings.IndexByte(raw, '>')
			b.WriteString(r.token(raw[1:end], &out))
			raw = raw[end+1:]
		case raw[0] == '&':
			char, n := entity(raw)
			b.WriteString(char)
			raw = raw[n:]
		default:
			n := strings.IndexAny(raw[1:], "<&") + 1
			if n == 0 {
				n = len(raw)
			}
			b.WriteString(raw[:n])
			raw = raw[n:]
		}
	}
	out.text = strings.TrimSpace(b.String())
	out.other = out.other && !out.mentioned
	return out
}

// leading cuts a mention of the bot from the start of a text.
func (r reader) leading(raw string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(raw, " \t\r\n\u00a0"), "<@"+r.bot)
	if !ok || r.bot == "" {
		return raw, false
	}
	inside, after, closed := strings.Cut(rest, ">")
	if !closed || inside != "" && inside[0] != '|' {
		return raw, false
	}
	if after != "" && (after[0] == ':' || after[0] == ',') {
		after = after[1:]
	}
	return after, true
}

// entity decodes the entity at the start of a text, or takes the ampersand as it is.
func entity(raw string) (string, int) {
	for _, e := range [...][2]string{{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}} {
		if strings.HasPrefix(raw, e[0]) {
			return e[1], len(e[0])
		}
	}
	return "&", 1
}

// unescape decodes the three entities, each once.
func unescape(s string) string {
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(s)
}

// token reads what stands in angle brackets (docs.slack.dev/messaging/formatting-message-text).
func (r reader) token(s string, out *reading) string {
	target, label, _ := strings.Cut(s, "|")
	target, label = unescape(target), unescape(label)
	switch {
	case target == "":
		return label
	case target == "@"+r.bot:
		out.mentioned = true
		return "@" + r.name
	case target[0] == '@':
		out.other = true
		return "@" + or(label, target[1:])
	case target[0] == '#':
		return "#" + or(label, target[1:])
	case strings.HasPrefix(target, "!date^"):
		return label
	case strings.HasPrefix(target, "!subteam^"):
		out.other = true
		return or(label, "@"+strings.TrimPrefix(target, "!subteam^"))
	case target[0] == '!':
		return or(label, "@"+target[1:])
	}
	address := strings.TrimPrefix(strings.TrimPrefix(target, "mailto:"), "tel:")
	switch label {
	case "", address, target:
		return address
	case strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://"):
		return label // what the person typed, before Slack made a link of it
	}
	return label + " (" + address + ")"
}

func or(s, fallback string) string {
	if s != "" {
		return s
	}
	return fallback
}
