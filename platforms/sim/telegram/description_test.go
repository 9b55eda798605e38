package telegram

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described is a description in the form of the official one, with what is hard about it: alternatives, arrays of
// arrays, types with variants and types that contain themselves.
const described = `{"version":"Bot API 0","methods":{
	"sendMessage":{"name":"sendMessage","fields":[
		{"name":"chat_id","types":["Integer","String"],"required":true},
		{"name":"text","types":["String"],"required":true},
		{"name":"reply_parameters","types":["ReplyParameters"],"required":false},
		{"name":"reply_markup","types":["InlineKeyboardMarkup","ForceReply"],"required":false}]},
	"setMessageReaction":{"fields":[{"name":"reaction","types":["Array of ReactionType"],"required":false}]},
	"getMe":{}},
"types":{
	"ReplyParameters":{"fields":[{"name":"message_id","types":["Integer"],"required":true},{"name":"inner","types":["ReplyParameters"],"required":false}]},
	"InlineKeyboardMarkup":{"fields":[{"name":"inline_keyboard","types":["Array of Array of InlineKeyboardButton"],"required":true}]},
	"ForceReply":{"fields":[{"name":"force_reply","types":["Boolean"],"required":true}]},
	"InlineKeyboardButton":{"fields":[{"name":"text","types":["String"],"required":true},{"name":"callback_data","types":["String"],"required":false}]},
	"ReactionType":{"subtypes":["ReactionTypeEmoji","ReactionTypePaid"]},
	"ReactionTypeEmoji":{"fields":[{"name":"type","types":["String"],"required":true},{"name":"emoji","types":["String"],"required":true}]},
	"ReactionTypePaid":{"fields":[{"name":"type","types":["String"],"required":true}]}}}`

func TestCheckAgainst(t *testing.T) {
	d, err := ReadDescription([]byte(described))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method string
		pairs  []string
		want   []string
	}{
		{"getMe", nil, nil},
		{"sendMessage", []string{"chat_id", "100", "text", "x", "reply_parameters", `{"message_id":1}`, "reply_markup", `{"inline_keyboard":[[{"text":"a","callback_data":"b"}]]}`}, nil},
		{"sendMessage", []string{"chat_id", "100", "text", "x", "colour", "red"}, []string{"unknown field sendMessage.colour"}},
		{"sendMessage", []string{"chat_id", "100"}, []string{"missing field sendMessage.text"}},
		{"sendMessage", []string{"chat_id", "100", "text", "x", "reply_parameters", `{"message_id":"1"}`}, []string{"sendMessage.reply_parameters.message_id is string, want integer"}},
		{"sendMessage", []string{"chat_id", "100", "text", "x", "reply_markup", `{"inline_keyboard":[[{"text":"a","data":"b"}]]}`}, []string{"unknown field sendMessage.reply_markup.inline_keyboard.data"}},
		{"setMessageReaction", []string{"reaction", `[{"emoji":"👍"}]`}, []string{"missing field setMessageReaction.reaction.type"}},
		{"sendDice", nil, []string{"unknown method sendDice"}},
	} {
		s := newTestServer()
		s.CheckAgainst(d)
		a := ask(t, s, c.method, c.pairs...)
		if diff := cmp.Diff(c.want, s.Violations()); diff != "" {
			t.Errorf("%s %v:\n%s", c.method, c.pairs, diff)
		}
		for _, v := range c.want {
			if c.method != "sendDice" && !strings.Contains(a.Description, v) {
				t.Errorf("%s %v was answered with %q", c.method, c.pairs, a.Description)
			}
		}
	}
	if _, err := ReadDescription([]byte("nonsense")); err == nil {
		t.Error("nonsense is read as a description")
	}
}
