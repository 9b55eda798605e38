package telegram

import (
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// addressed is a text and whom it is for.
type addressed struct {
	text     string // without the bot's name where that only addresses it
	self     bool   // names the bot
	others   bool   // names somebody else
	otherBot bool   // is a command for another bot
}

// addressing reads whom a text names. Only Telegram's entities count, not whatever looks like a name: so an address
// in code or an e-mail address is no mention.
func addressing(text string, entities []tgbotapi.MessageEntity, self tgbotapi.User) addressed {
	name := "@" + self.UserName
	if len(entities) == 0 {
		return addressed{text: bareCommand(text, name)}
	}
	units := utf16.Encode([]rune(text))
	slice := func(from, to int) string {
		from = min(max(from, 0), len(units))
		return string(utf16.Decode(units[from:min(max(to, from), len(units))]))
	}
	a := addressed{text: text}
	lead := 0 // in units: a mention of the bot that the text begins with
	for _, e := range entities {
		part := slice(e.Offset, e.Offset+e.Length)
		switch {
		case e.Type == "mention" && strings.EqualFold(part, name), e.Type == "text_mention" && e.User != nil && e.User.ID == self.ID:
			a.self = true
			if e.Offset == 0 {
				lead = e.Length
			}
		case e.Type == "mention", e.Type == "text_mention":
			a.others = true
		case e.Type == "bot_command" && strings.Contains(part, "@"):
			mine := strings.EqualFold(part[strings.Index(part, "@"):], name)
			a.self = a.self || mine
			a.others = a.others || !mine
			a.otherBot = a.otherBot || !mine && e.Offset == 0
		}
	}
	if lead > 0 {
		a.text = strings.TrimLeft(slice(lead, len(units)), " \t\r\n,:")
	}
	a.text = bareCommand(a.text, name)
	return a
}

// bareCommand takes the bot's name off a leading command: "/new@bot x" becomes "/new x".
func bareCommand(text, name string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	end := strings.IndexAny(text, " \t\r\n")
	if end < 0 {
		end = len(text)
	}
	if at := end - len(name); at > 0 && strings.EqualFold(text[at:end], name) {
		return text[:at] + text[end:]
	}
	return text
}
