package slack

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
)

const (
	mostText    = 3900 // bytes of mrkdwn that Split aims at
	mostBytes   = 4000 // bytes of text that chat.update accepts; we post no more
	mostSection = 3000 // characters of one section block
	mostRows    = 40   // actions blocks below a message; 50 blocks in all
	mostLabel   = 75   // characters on a button
)

// contentOf turns an outgoing message into arguments of chat.postMessage or chat.update.
//
// Text alone goes out as text in mrkdwn: it has the fewest limits, shows the same everywhere, and an edit with text alone
// removes the buttons of before. With buttons it goes into section blocks, cut where they are full, above the rows of
// buttons, and the text is what notifications show. Text that must stand as it is goes out with markup switched off, or,
// where chat.update and blocks know no such switch, as plain text sections.
func contentOf(method string, out platforms.Outgoing) ([]slack.MsgOption, error) {
	text := markup.Slack().Render(out.Text)
	if out.Plain {
		text = escape(out.Text)
	}
	refuse := func(class platforms.Class, why string) error {
		return &platforms.Error{Class: class, Op: "slack " + method, Err: errors.New(why)}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, refuse(platforms.Invalid, "the text is blank")
	case len(text) > mostBytes:
		return nil, refuse(platforms.TooLong, fmt.Sprintf("%d bytes of text, at most %d can be edited", len(text), mostBytes))
	case len(out.Buttons) > mostRows:
		return nil, refuse(platforms.Invalid, "too many rows of buttons")
	}
	options := []slack.MsgOption{slack.MsgOptionText(text, false)}
	if out.Key != "" {
		options = append(options, slack.MsgOptionMetadata(slack.SlackMetadata{
			EventType: deliveryEvent, EventPayload: map[string]any{"key": out.Key},
		}))
	}
	switch plain := out.Plain; {
	case len(out.Buttons) > 0 || plain && method == "chat.update":
		return append(options, slack.MsgOptionBlocks(blocksOf(text, out)...)), nil
	case plain:
		return append(options, slack.MsgOptionDisableMarkdown()), nil
	}
	return options, nil
}

func blocksOf(text string, out platforms.Outgoing) []slack.Block {
	var blocks []slack.Block
	if out.Plain {
		for _, piece := range cut(out.Text, mostSection, "") {
			blocks = append(blocks, slack.NewSectionBlock(slack.NewTextBlockObject("plain_text", piece, false, false), nil, nil))
		}
	} else {
		for _, piece := range cut(text, mostSection, "```") {
			blocks = append(blocks, slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", piece, false, false), nil, nil))
		}
	}
	for i, row := range out.Buttons {
		var elements []slack.BlockElement
		for j, b := range row {
			button := slack.NewButtonBlockElement(fmt.Sprintf("%s%d_%d", actionPrefix, i, j), b.Data,
				slack.NewTextBlockObject("plain_text", label(b.Label), true, false))
			if b.Danger {
				button.Style = slack.StyleDanger
			}
			elements = append(elements, button)
		}
		blocks = append(blocks, slack.NewActionBlock(fmt.Sprintf("%srow_%d", actionPrefix, i), elements...))
	}
	return blocks
}

// actionPrefix begins the action ids of our buttons, so that others can be told apart.
const actionPrefix = "talaria_"

func label(s string) string {
	if runes := []rune(s); len(runes) > mostLabel {
		return string(runes[:mostLabel-1]) + "…"
	}
	return s
}

// cut divides a text into pieces of at most limit characters, at line ends where it can. A fence that is open at a cut is
// closed there and opened again in the next piece; an empty fence means that there are none.
func cut(text string, limit int, fence string) []string {
	var pieces []string
	opening := ""
	for rest := []rune(text); len(rest) > 0; {
		room := limit - 2*(len(fence)+1)
		if len(rest)+len(opening) <= limit {
			return append(pieces, opening+string(rest))
		}
		end := room - len(opening)
		if i := lastLine(rest[:end]); i > 0 {
			end = i
		}
		piece := opening + string(rest[:end])
		rest = rest[end:]
		opening = ""
		if fence != "" && strings.Count(piece, fence)%2 == 1 {
			piece, opening = strings.TrimSuffix(piece, "\n")+"\n"+fence, fence+"\n"
		}
		pieces = append(pieces, piece)
	}
	return pieces
}

// lastLine returns the length of a text up to and including its last line break that has something in front of it.
func lastLine(text []rune) int {
	for i := len(text) - 1; i > 0; i-- {
		if text[i] == '\n' {
			return i + 1
		}
	}
	return 0
}

// escape replaces the three characters that Slack treats as control characters (docs.slack.dev/messaging/
// formatting-message-text).
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
