package telegram

import (
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// attachmentsOf describes what a message holds besides text: one thing, as Telegram sends albums as several messages.
// Ref is the file id, which is of use only with the bot's token.
func attachmentsOf(m *message) []platforms.Attachment {
	a := media(m)
	if a.Kind == "" {
		a = figure(m)
	}
	if a.Kind == "" {
		return nil
	}
	return []platforms.Attachment{a}
}

// media are files. An animation also comes as a document, for older clients, so it is looked for first.
func media(m *message) platforms.Attachment {
	switch {
	case m.Animation != nil:
		f := m.Animation
		return platforms.Attachment{Kind: "video", Name: f.FileName, Type: f.MimeType, Size: int64(f.FileSize), Ref: f.FileID}
	case m.Document != nil:
		f := m.Document
		return platforms.Attachment{Kind: "document", Name: f.FileName, Type: f.MimeType, Size: int64(f.FileSize), Ref: f.FileID}
	case len(m.Photo) > 0:
		f := largest(m.Photo)
		return platforms.Attachment{Kind: "photo", Type: "image/jpeg", Size: int64(f.FileSize), Ref: f.FileID}
	case m.Audio != nil:
		f := m.Audio
		return platforms.Attachment{Kind: "audio", Name: f.FileName, Type: f.MimeType, Size: int64(f.FileSize), Ref: f.FileID}
	case m.Voice != nil:
		f := m.Voice
		return platforms.Attachment{Kind: "voice", Type: f.MimeType, Size: int64(f.FileSize), Ref: f.FileID}
	case m.Video != nil:
		f := m.Video
		return platforms.Attachment{Kind: "video", Name: f.FileName, Type: f.MimeType, Size: int64(f.FileSize), Ref: f.FileID}
	case m.VideoNote != nil:
		return platforms.Attachment{Kind: "video", Size: int64(m.VideoNote.FileSize), Ref: m.VideoNote.FileID}
	case m.Sticker != nil:
		f := m.Sticker
		return platforms.Attachment{Kind: "sticker", Name: f.Emoji, Size: int64(f.FileSize), Ref: f.FileID}
	}
	return platforms.Attachment{}
}

// figure is everything else that a message can hold.
func figure(m *message) platforms.Attachment {
	switch {
	case m.Venue != nil:
		return platforms.Attachment{Kind: "location", Name: m.Venue.Title + ", " + m.Venue.Address + " (" + position(m.Venue.Location) + ")"}
	case m.Location != nil:
		return platforms.Attachment{Kind: "location", Name: position(*m.Location)}
	case m.Contact != nil:
		c := m.Contact
		return platforms.Attachment{Kind: "contact", Name: strings.TrimSpace(fullName(c.FirstName, c.LastName) + " " + c.PhoneNumber)}
	case m.Poll != nil:
		return platforms.Attachment{Kind: "poll", Name: m.Poll.Question}
	case m.Dice != nil:
		return platforms.Attachment{Kind: "other", Name: m.Dice.Emoji + " " + strconv.Itoa(m.Dice.Value)}
	}
	for name, raw := range map[string][]byte{
		"story": m.Story, "paid media": m.PaidMedia, "checklist": m.Checklist, "giveaway": m.Giveaway,
		"formatted message": m.Rich, "live photo": m.LivePhoto,
	} {
		if raw != nil {
			return platforms.Attachment{Kind: "other", Name: name}
		}
	}
	if m.Game != nil {
		return platforms.Attachment{Kind: "other", Name: "game " + m.Game.Title}
	}
	return platforms.Attachment{}
}

func largest(sizes []tgbotapi.PhotoSize) tgbotapi.PhotoSize {
	best := sizes[0]
	for _, s := range sizes {
		if s.Width*s.Height > best.Width*best.Height {
			best = s
		}
	}
	return best
}

func position(l tgbotapi.Location) string {
	return strconv.FormatFloat(l.Latitude, 'f', 6, 64) + ", " + strconv.FormatFloat(l.Longitude, 'f', 6, 64)
}
