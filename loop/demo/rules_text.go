package demo

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

var (
	//go:embed help.md
	help string
	//go:embed showcase.md
	showcase string
)

// textRules are about commands that are answered by text alone.
func textRules() []rule {
	say := func(text string) func(turn, []string) Response {
		return func(turn, []string) Response { return Say(text) }
	}
	return []rule{
		{regexp.MustCompile(`(?i)^(?:help|/help|\?|what can you do)`), say(help)},
		{regexp.MustCompile(`(?i)^(?:hello|hi|hey|good (?:morning|evening))\b`), say("Hello! I am a demonstration model. Say `help` to see what I can do.")},
		{regexp.MustCompile(`(?i)^(?:thanks|thank you)`), say("You are welcome.")},
		{regexp.MustCompile(`(?i)^markdown`), say(showcase)},
		{regexp.MustCompile(`(?i)^long(?:\s+(\d+))?`), long},
		{regexp.MustCompile(`(?is)^echo\s+(.+)`), func(_ turn, args []string) Response { return Say(args[0]) }},
		{regexp.MustCompile(`(?i)^what did i (?:say|ask)`), recall},
		{regexp.MustCompile(`(?i)^how long`), size},
	}
}

// long is an answer that no platform takes in one message, with a block of code where it is likely to be split.
func long(_ turn, args []string) Response {
	paragraphs := number(args[0], 30, 500)
	var b strings.Builder
	for i := range paragraphs {
		fmt.Fprintf(&b, "**Paragraph %d.** This sentence is here to take up room, and so is the next. If all of them arrive, in "+
			"order and once each, then long answers work; the number of paragraphs is %d.\n\n", i+1, paragraphs)
		if i%8 == 3 {
			b.WriteString("```python\n")
			for n := range 20 {
				fmt.Fprintf(&b, "print(%d)  # a block of code must stay whole, or be closed and opened again\n", n+1)
			}
			b.WriteString("```\n\n")
		}
	}
	b.WriteString("This is the end.")
	return Say(b.String())
}

// recall shows that a conversation is kept.
func recall(t turn, _ []string) Response {
	_, at := t.req.LastUser()
	var said []string
	for _, m := range t.req.Messages[:max(at, 0)] {
		if m.Role == "user" {
			text, _, _ := strings.Cut(m.Text(), runtimeNote)
			said = append(said, "- "+short(text, 200))
		}
	}
	if said == nil {
		return Say("This is the first message of our conversation.")
	}
	return Say(fmt.Sprintf("Before this you said %s:\n\n%s", count(len(said), "thing"), strings.Join(said[max(0, len(said)-20):], "\n")))
}

// size shows what a model is sent.
func size(t turn, _ []string) Response {
	return Say(fmt.Sprintf("This request has %s and %s, about %s in all.",
		count(len(t.req.Messages), "message"), count(len(t.req.Tools), "tool"), count(t.req.Tokens(), "token")))
}

// notes stands for a summary: what people said and which tools were called, in excerpts, under the headings that the
// summary is asked to have.
func notes(asked string) string {
	var said, called []string
	for line := range strings.Lines(asked) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "Person: "); ok {
			said = append(said, "- "+short(text, 150))
		} else if text, ok := strings.CutPrefix(line, "Assistant called "); ok {
			called = append(called, "- "+short(text, 100))
		}
	}
	section := func(lines []string) string {
		if lines == nil {
			return "none"
		}
		return strings.Join(lines[max(0, len(lines)-15):], "\n")
	}
	return "## Goal\nnone\n## Done\n" + section(called) + "\n## Facts to keep\nThese notes are by a demonstration model: excerpts, " +
		"not a summary. People said:\n" + section(said)
}

// count returns a number of things, in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// fence puts a text into a block of code that it cannot end, cut to so many bytes.
func fence(text string, most int) string {
	text = strings.TrimRight(text, "\n")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n… (%d bytes in all)", len(text))
	}
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + text + "\n" + marks
}

// short returns a text in one line of limited length.
func short(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// quoteShort returns a text as inline code.
func quoteShort(text string) string {
	return "`" + strings.ReplaceAll(short(text, 120), "`", "'") + "`"
}
