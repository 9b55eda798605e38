package gateway

import (
	"context"
	"slices"
	"strings"
	"time"
)

// awaited tells whether a message is a part of an album that may be the answer to the model's question. It comes in parts,
// so it waits in the queue until it is whole.
func (c *conversation) awaited(in *input) bool {
	if c.turn == nil || in.Edited != nil || in.Message.Album == "" || in.whole {
		return false
	}
	s := c.log.snapshot()
	q, ok := s.Waiting(false)
	return ok && q.MessageID != "" && in.Message.Sender.ID == s.Turn.Requester
}

// album returns the parts of the first album in the queue that is awaited, in order.
func (c *conversation) album() []*input {
	first := slices.IndexFunc(c.queue, c.awaited)
	if first < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.queue), func(in *input) bool {
		return !c.awaited(in) || in.Message.Album != c.queue[first].Message.Album
	})
}

// answerWithAlbum takes an album that is whole as the answer to the question that waits: its words, and that the files came
// with them. One without a word is answered in a line, as ever.
func (c *conversation) answerWithAlbum(ctx context.Context) {
	parts := c.album()
	if len(parts) == 0 || time.Now().Before(last(parts).ready) {
		return
	}
	c.queue = slices.DeleteFunc(c.queue, func(in *input) bool { return slices.Contains(parts, in) })
	c.g.room.leave(parts...)
	words := max(0, slices.IndexFunc(parts, func(in *input) bool { return strings.TrimSpace(in.Message.Text) != "" }))
	in := parts[words].with(slices.Delete(slices.Clone(parts), words, words+1))
	if why := unworkable([]*input{in}); why != "" {
		c.reply(ctx, in, why)
		return
	}
	c.enqueue(ctx, in)
}

// with joins a part of an album with the others.
func (in *input) with(others []*input) *input {
	joined, m := *in, *in.Message
	joined.whole, joined.edits = true, slices.Clone(in.edits)
	var texts []string
	m.Attachments = nil
	for _, part := range append([]*input{in}, others...) {
		if part != in {
			joined.edits = append(joined.edits, part.items()...)
		}
		if text := strings.TrimSpace(part.Message.Text); text != "" {
			texts = append(texts, text)
		}
		m.Attachments = append(m.Attachments, part.Message.Attachments...)
	}
	m.Text = strings.Join(texts, "\n")
	joined.Message = &m
	return &joined
}
