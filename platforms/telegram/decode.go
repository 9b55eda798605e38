package telegram

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// decoder turns Telegram's updates into the contract's. It is pure.
type decoder struct {
	account string
	self    tgbotapi.User
}

// message decodes a new message, or says why it is of no use here.
func (d decoder) message(m *message) (*platforms.Message, string) {
	if m.From != nil && m.From.ID == d.self.ID {
		return nil, "own message"
	}
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	attachments := attachmentsOf(m)
	if text == "" && len(attachments) == 0 {
		return nil, "service message"
	}
	origin := d.origin(m)
	t := addressing(text, entities, d.self)
	if t.otherBot && origin.Kind != platforms.Direct {
		return nil, "command for another bot"
	}
	quoted := d.quote(m)
	mentioned := t.self || origin.Kind == platforms.Direct || quoted != nil && quoted.Own
	return &platforms.Message{
		Origin:        origin,
		Native:        d.native("m", origin.Address.Chat, strconv.Itoa(m.MessageID)),
		ID:            strconv.Itoa(m.MessageID),
		Text:          t.text,
		Mentioned:     mentioned,
		MentionsOther: t.others && !t.self,
		Forwarded:     m.ForwardOrigin != nil,
		Quoted:        quoted,
		Attachments:   attachments,
		Album:         m.MediaGroupID,
		At:            time.Unix(int64(m.Date), 0),
	}, ""
}

// migrated decodes the service messages about a group that became a supergroup, of which both chats get one; nil if this
// is neither.
func (d decoder) migrated(m *message) *platforms.ChatMigrated {
	from, to := m.Chat.ID, m.MigrateToChatID
	if m.MigrateFromChatID != 0 {
		from, to = m.MigrateFromChatID, m.Chat.ID
	}
	if to == 0 {
		return nil
	}
	old, successor := strconv.FormatInt(from, 10), strconv.FormatInt(to, 10)
	return &platforms.ChatMigrated{
		Native: d.native("g", old, successor), To: successor,
		From: platforms.Address{Platform: platforms.Telegram, Account: d.account, Chat: old},
	}
}

// edited decodes a changed message. Its time is that of the change.
func (d decoder) edited(m *message) (*platforms.MessageEdited, string) {
	changed, skip := d.message(m)
	if skip != "" {
		return nil, skip
	}
	original := changed.Native
	sum := fnv.New32a() // the time is in whole seconds, and somebody may change a message twice in one
	_, _ = sum.Write([]byte(changed.Text))
	changed.Native = d.native("e", changed.Address.Chat, changed.ID, strconv.Itoa(m.EditDate), strconv.FormatUint(uint64(sum.Sum32()), 36))
	changed.At = time.Unix(int64(m.EditDate), 0)
	return &platforms.MessageEdited{Message: *changed, Original: original}, ""
}

// native builds an id that is unique over all events of this bot.
func (d decoder) native(parts ...string) string {
	return string(platforms.Telegram) + "/" + d.account + "/" + strings.Join(parts, "/")
}

// origin says where a message is and who wrote it. The thread id counts only in topics: elsewhere Telegram also puts
// the root of a chain of replies there.
func (d decoder) origin(m *message) platforms.Origin {
	o := platforms.Origin{
		Address: platforms.Address{Platform: platforms.Telegram, Account: d.account, Chat: strconv.FormatInt(m.Chat.ID, 10)},
		Kind:    platforms.Group,
		Sender:  sender(m),
		Title:   m.Chat.Title,
	}
	if m.IsTopicMessage && m.MessageThreadID != 0 {
		o.Address.Thread = strconv.Itoa(m.MessageThreadID)
	}
	switch {
	case m.Chat.IsPrivate():
		o.Kind, o.Title = platforms.Direct, fullName(m.Chat.FirstName, m.Chat.LastName)
	case m.Chat.IsForum:
		o.Kind = platforms.Topic
		if o.Address.Thread == "" {
			o.Address.Thread = generalThread
		}
	}
	return o
}

// sender is who wrote a message. Anonymous administrators and channels write under a chat's name, with a stand-in user
// that is the same for all of them: that is nobody who can be authorised.
func sender(m *message) platforms.Person {
	switch {
	case m.SenderChat != nil:
		return platforms.Person{ID: strconv.FormatInt(m.SenderChat.ID, 10), Name: m.SenderChat.Title, Bot: true}
	case m.From != nil:
		return person(m.From)
	default:
		return platforms.Person{Bot: true}
	}
}

func person(u *tgbotapi.User) platforms.Person {
	return platforms.Person{ID: strconv.FormatInt(u.ID, 10), Name: fullName(u.FirstName, u.LastName), Bot: u.IsBot}
}

func fullName(first, last string) string { return strings.TrimSpace(first + " " + last) }

// quote is the message that this one replies to. Every message of a topic formally replies to the one that opened the
// topic, which is not meant.
func (d decoder) quote(m *message) *platforms.Quote {
	r := m.ReplyToMessage
	if r == nil || r.ForumTopicCreated != nil || m.IsTopicMessage && r.MessageID == m.MessageThreadID {
		return nil
	}
	q := &platforms.Quote{
		MessageID: strconv.Itoa(r.MessageID),
		Sender:    sender(r),
		Text:      r.Text,
		Own:       r.From != nil && r.From.ID == d.self.ID,
	}
	if q.Text == "" {
		q.Text = r.Caption
	}
	if m.Quote != nil && m.Quote.Text != "" {
		q.Text = m.Quote.Text
	}
	return q
}
