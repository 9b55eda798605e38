package slack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// Limits of Block Kit (docs.slack.dev/reference/block-kit).
const (
	mostBlocks      = 50
	mostSection     = 3000
	mostHeader      = 150
	mostMarkdown    = 12_000
	mostElements    = 25
	mostButtonText  = 75
	mostButtonValue = 2000
	mostID          = 255
	mostBlocksTotal = 13_200 // characters of a whole message; measured by others, not documented
)

// block is one of the blocks that the simulator knows: section, header, markdown, context, divider, actions.
type block struct {
	Type     string          `json:"type"`
	BlockID  string          `json:"block_id,omitempty"`
	Text     *textObject     `json:"-"`
	RawText  json.RawMessage `json:"text,omitempty"` // an object, but a string in a markdown block
	Elements []element       `json:"elements,omitempty"`
	Expand   *bool           `json:"expand,omitempty"`
}

type textObject struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Emoji    *bool  `json:"emoji,omitempty"`
	Verbatim *bool  `json:"verbatim,omitempty"`
}

// element is a button of an actions block, or a text of a context block.
type element struct {
	Type     string          `json:"type"`
	ActionID string          `json:"action_id,omitempty"`
	RawText  json.RawMessage `json:"text,omitempty"`
	Text     *textObject     `json:"-"`
	Value    string          `json:"value,omitempty"`
	Style    string          `json:"style,omitempty"`
	URL      string          `json:"url,omitempty"`
}

// parseBlocks reads and checks blocks as strictly as Slack does.
func parseBlocks(raw string) ([]block, *refusal) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil, refuse("invalid_blocks_format")
	}
	if len(list) > mostBlocks {
		return nil, refuse("invalid_blocks", "no more than 50 items allowed [json-pointer:/blocks]")
	}
	blocks, ids, total := make([]block, len(list)), map[string]bool{}, 0
	for i, item := range list {
		at := fmt.Sprintf("/blocks/%d", i)
		if problem := blocks[i].read(item); problem != "" {
			return nil, refuse("invalid_blocks", problem+" [json-pointer:"+at+"]")
		}
		id := blocks[i].BlockID
		if id == "" {
			id = fmt.Sprintf("b%d", i)
			blocks[i].BlockID = id
		}
		if ids[id] || len(id) > mostID {
			return nil, refuse("invalid_blocks", "`block_id` must be unique and shorter than 256 [json-pointer:"+at+"]")
		}
		ids[id] = true
		if t := blocks[i].Text; t != nil {
			total += utf8.RuneCountInString(t.Text)
		}
	}
	if total > mostBlocksTotal {
		return nil, refuse("msg_blocks_too_long")
	}
	return blocks, nil
}

// strictly decodes JSON and refuses unknown fields.
func strictly(data []byte, into any) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return "invalid additional property or type: " + err.Error()
	}
	return ""
}

func (b *block) read(data []byte) (problem string) {
	if problem := strictly(data, b); problem != "" {
		return problem
	}
	switch b.Type {
	case "section":
		b.Text, problem = readText(b.RawText, mostSection, "plain_text", "mrkdwn")
	case "header":
		b.Text, problem = readText(b.RawText, mostHeader, "plain_text")
	case "markdown":
		var s string
		if json.Unmarshal(b.RawText, &s) != nil || s == "" || utf8.RuneCountInString(s) > mostMarkdown {
			return "must have between 1 and 12000 characters"
		}
		b.Text = &textObject{Type: "plain_text", Text: s}
	case "divider":
	case "context", "actions":
		problem = b.readElements()
	default:
		problem = "unsupported type: " + b.Type
	}
	return problem
}

func readText(raw json.RawMessage, most int, types ...string) (*textObject, string) {
	var t textObject
	if len(raw) == 0 {
		return nil, "missing required field: text"
	}
	if problem := strictly(raw, &t); problem != "" {
		return nil, problem
	}
	known := false
	for _, name := range types {
		known = known || t.Type == name
	}
	switch n := utf8.RuneCountInString(t.Text); {
	case !known:
		return nil, "unsupported type of text: " + t.Type
	case n == 0:
		return nil, "must be more than 0 characters"
	case n > most:
		return nil, fmt.Sprintf("must be less than %d characters", most+1)
	}
	return &t, ""
}

func (b *block) readElements() (problem string) {
	if len(b.Elements) == 0 || len(b.Elements) > mostElements {
		return "must have between 1 and 25 elements"
	}
	ids := map[string]bool{}
	for i := range b.Elements {
		e := &b.Elements[i]
		switch {
		case b.Type == "context" && (e.Type == "mrkdwn" || e.Type == "plain_text"):
			var s string
			if json.Unmarshal(e.RawText, &s) != nil || s == "" {
				return "missing required field: text"
			}
			e.Text = &textObject{Type: e.Type, Text: s}
			continue
		case b.Type != "actions" || e.Type != "button":
			return "unsupported element: " + e.Type
		}
		if e.Text, problem = readText(e.RawText, mostButtonText, "plain_text"); problem != "" {
			return problem
		}
		switch {
		case e.ActionID == "" || len(e.ActionID) > mostID || ids[e.ActionID]:
			return "`action_id` must be unique in its block and have between 1 and 255 characters"
		case utf8.RuneCountInString(e.Value) > mostButtonValue:
			return "`value` must be less than 2001 characters"
		case e.Style != "" && e.Style != "primary" && e.Style != "danger":
			return "unsupported style: " + e.Style
		}
		ids[e.ActionID] = true
	}
	return ""
}

// blocks draws the blocks of a message; the buttons are drawn by whoever shows the message.
func (d *drawing) blocks(blocks []block) {
	first := true
	for _, b := range blocks {
		texts := []*textObject{b.Text}
		if b.Type == "context" {
			texts = nil
			for _, e := range b.Elements {
				texts = append(texts, e.Text)
			}
		}
		for _, t := range texts {
			if t == nil {
				continue
			}
			if !first {
				d.put("\n")
			}
			first = false
			switch {
			case t.Type == "mrkdwn":
				d.text(t.Text, true)
			case b.Type == "header":
				d.wrap("b", func() { d.put(t.Text) })
			default:
				d.put(t.Text)
			}
		}
	}
}

func buttonsOf(blocks []block) [][]sim.Button {
	var rows [][]sim.Button
	for _, b := range blocks {
		if b.Type != "actions" {
			continue
		}
		var row []sim.Button
		for _, e := range b.Elements {
			row = append(row, sim.Button{Label: e.Text.Text, Data: e.Value})
		}
		rows = append(rows, row)
	}
	return rows
}

func findButton(blocks []block, data string) (blockID string, button element, ok bool) {
	for _, b := range blocks {
		for _, e := range b.Elements {
			if e.Type == "button" && e.Value == data {
				return b.BlockID, e, true
			}
		}
	}
	return "", element{}, false
}
