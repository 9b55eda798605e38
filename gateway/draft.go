package gateway

import (
	"context"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
)

// streamer returns how an address shows drafts, nil if it does not.
func (g *Gateway) streamer(at platforms.Address) platforms.Streamer {
	if _, refused := g.undrafted.Load(at); refused {
		return nil
	}
	streamer, _ := g.adapters[at.Platform].(platforms.Streamer)
	return streamer
}

// draft shows what has been written as the platform's own draft, the end of it if it is too long. Nothing of a draft stays:
// no log names it, a crash leaves nothing, and the answer is a new message, which takes its place. Where drafts are refused
// the stream goes on by edits, and so do later turns there. The caller holds calls.
func (s *stream) draft(ctx context.Context, text string) error {
	pieces := s.t.c.g.adapters[s.t.address.Platform].Split(markup.Growing(text, ""))
	if len(pieces) == 0 {
		return nil
	}
	out := platforms.Outgoing{Text: pieces[len(pieces)-1], Key: s.t.id, Class: platforms.PriorityProgress}
	err := s.drafts.Draft(ctx, s.t.address, out)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch platforms.ClassOf(err) {
	case "":
		s.drafted = time.Now()
	case platforms.Invalid, platforms.Forbidden:
		s.t.c.g.log.Info("drafts are refused here; answers grow by edits", "address", s.t.address, "error", err)
		s.t.c.g.undrafted.Store(s.t.address, true)
		s.drafts = nil
		return nil
	}
	return err
}

// fading tells when the draft has to be shown again lest it vanish while the model is silent. What is said beside tool calls
// may vanish.
func (s *stream) fading() <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drafts == nil || s.drafted.IsZero() || s.aside || s.text.Len() == 0 {
		return nil
	}
	return time.After(time.Until(s.drafted.Add(s.draftFor() * 2 / 3)))
}

// drafting tells whether a draft may still show.
func (s *stream) drafting() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.drafted.IsZero() && time.Since(s.drafted) < s.draftFor()
}

func (s *stream) draftFor() time.Duration {
	return s.t.c.g.adapters[s.t.address.Platform].Limits().DraftFor
}
