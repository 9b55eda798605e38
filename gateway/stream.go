package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	streamAfter  = time.Second     // a reply that takes longer to be written is shown meanwhile
	streamSettle = 5 * time.Second // how long the end of a turn waits for a call that is under way
	streamCursor = " ▌"
	streamBroken = "_… (interrupted)_"
)

// stream shows an answer while the model writes it: as the platform's own draft where that is wanted and possible (see
// draft), else in messages of its own that grow by edits. It is lossy like the bubble, and as little an answer: the commit
// that ends the turn holds the whole answer as an outbox row that names these messages, and the row's delivery makes their
// last edits. So the log knows what was shown (StreamShown) and the row what was delivered. What the model says beside tool
// calls is shown, too, until the bubble takes that over or the next text takes its place. A nil stream shows nothing and
// costs nothing.
type stream struct {
	t       *turn
	editor  platforms.Editor // nil = no edits
	replyTo string           // what the answer replies to

	calls chan struct{} // holds one while messages are posted and edited: that takes its time, so it is no mutex

	mu      sync.Mutex
	text    strings.Builder // what the model has written of the reply that it is writing
	began   time.Time       // when the first piece of that came
	aside   bool            // the reply is complete and has tool calls
	posted  []grown
	posting *sessions.StreamPost // what an earlier process may have posted behind them; nil = nothing
	drafts  platforms.Streamer   // nil = it grows by edits; changed by the holder of calls alone
	drafted time.Time            // when a draft was shown last
	late    bool                 // the turn has been closed; what is posted now is not wanted any more

	ring  chan struct{}
	over  chan struct{} // closed when the turn is over
	done  chan struct{} // closed when nothing is under way any more
	ended sync.Once
}

// grown is a message of a stream.
type grown struct{ id, text string }

// newStream returns the stream of a turn, nil if its answer is not to be shown before it is complete.
func newStream(t *turn, shown []string, posting *sessions.StreamPost) *stream {
	s := &stream{t: t, posting: posting, calls: make(chan struct{}, 1), ring: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{})}
	left := len(shown) > 0 || posting != nil // it is ended also if nothing is shown any more
	if t.delivery.Stream == StreamNative && !left {
		s.drafts = t.c.g.streamer(t.address)
	}
	if t.delivery.Stream == StreamNative || t.delivery.Stream == StreamEdit || left {
		s.editor, _ = t.c.g.adapters[t.address.Platform].(platforms.Editor)
	}
	if s.drafts == nil && s.editor == nil || t.address != t.inputs[0].origin().Address {
		return nil
	}
	if answer, ok := t.c.g.answer(t.inputs[len(t.inputs)-1], streamCursor); ok {
		s.replyTo = answer.ReplyTo
	}
	for _, id := range shown {
		s.posted = append(s.posted, grown{id: id})
	}
	return s
}

// start begins to watch; finish or park must follow.
func (s *stream) start() {
	if s != nil {
		s.t.c.g.bubbles.Go(s.run)
	}
}

// observe takes an event of the loop. It never blocks.
func (s *stream) observe(e loop.Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case loop.RoundStarted:
		s.text.Reset()
	case loop.Replied:
		if s.aside = e.Calls > 0; s.aside {
			s.wake()
		}
	case loop.TextDelta:
		if s.text.Len() == 0 {
			s.began, s.aside = time.Now(), false
		}
		s.text.WriteString(e.Text)
		s.wake()
	}
}

func (s *stream) wake() {
	select {
	case s.ring <- struct{}{}:
	default:
	}
}

// writing tells whether there is something to show.
func (s *stream) writing() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Len() > 0
}

// halt ends the showing. It waits, not long, for a call that is under way.
func (s *stream) halt() {
	if s == nil {
		return
	}
	s.ended.Do(func() { close(s.over) })
	waitAtMostFor(s.done, streamSettle)
}

// finish ends the showing for good and returns the messages that are left to become the answer, or to be closed.
func (s *stream) finish() []grown {
	if s == nil {
		return nil
	}
	s.halt()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = true
	return slices.Clone(s.posted)
}

// give hands over what the model said beside its tool calls, if it was shown: the text, the message that shows it unless
// that was a draft, and the entry that records which messages are left.
func (s *stream) give() (message, text string, rest sessions.Entry) {
	if s == nil {
		return "", "", nil
	}
	s.calls <- struct{}{}
	defer func() { <-s.calls }()
	s.mu.Lock()
	defer s.mu.Unlock()
	text = s.text.String()
	switch {
	case s.late || !s.aside:
		return "", "", nil
	case len(s.posted) > 0:
		message = s.posted[0].id
		s.posted = s.posted[1:]
		rest = s.entry()
	case text == "" || s.drafted.Before(s.began):
		return "", "", nil
	}
	s.text.Reset()
	return message, text, rest
}

// entry records the messages; mu is held.
func (s *stream) entry() sessions.StreamShown {
	shown := sessions.StreamShown{Turn: s.t.id}
	for _, m := range s.posted {
		shown.MessageIDs = append(shown.MessageIDs, m.id)
	}
	return shown
}

func (s *stream) run() {
	defer close(s.done)
	ctx := platforms.Droppable(s.t.c.g.outbox.ctx, s.over)
	every := max(s.t.settings.EditEvery, s.t.c.g.adapters[s.t.address.Platform].Limits().EditEvery)
	if s.posting != nil {
		s.recall(s.t.c.g.outbox.ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.over:
			return
		case <-s.ring:
		case <-s.fading():
		}
		s.mu.Lock()
		due := s.began.Add(streamAfter)
		s.mu.Unlock()
		if !s.pause(ctx, time.Until(due)) {
			return
		}
		wait := every
		if err := s.show(ctx); err != nil {
			s.t.c.g.log.Debug("an answer could not be shown while it is written", "task", s.t.id, "error", err)
			switch platforms.ClassOf(err) {
			case platforms.RateLimited, platforms.Transient, platforms.BadFormat:
				wait = max(wait, platforms.WaitOf(err))
				s.wake()
			default:
				return
			}
		}
		if !s.pause(ctx, wait) {
			return
		}
	}
}

// pause waits, and reports whether the turn still goes on.
func (s *stream) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.over:
	case <-ctx.Done():
	}
	return false
}

// show brings the messages up to what the model has written: one after the other, so that what no longer fits into one
// goes on in the next.
func (s *stream) show(ctx context.Context) error {
	s.calls <- struct{}{}
	defer func() { <-s.calls }()
	s.mu.Lock()
	text := s.text.String()
	s.mu.Unlock()
	if text == "" {
		return nil
	}
	if s.drafts != nil {
		if err := s.draft(ctx, text); err != nil || s.drafts != nil {
			return err
		}
	}
	if s.editor == nil {
		return nil
	}
	for i, piece := range s.t.c.g.adapters[s.t.address.Platform].Split(markup.Growing(text, streamCursor)) {
		if err := s.put(ctx, i, piece); err != nil {
			return err
		}
	}
	return nil
}

// put makes a message show a piece, posting it if there is none yet. Only the holder of calls changes posted.
func (s *stream) put(ctx context.Context, i int, piece string) error {
	if i < len(s.posted) {
		if s.posted[i].text == piece {
			return nil
		}
		out := platforms.Outgoing{Text: piece, Class: platforms.PriorityProgress}
		if err := s.t.c.g.outbox.edit(ctx, s.editor, s.t.address, s.posted[i].id, out); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.posted[i].text = piece
		return nil
	}
	out := platforms.Outgoing{Text: piece, Key: newID(), Class: platforms.PriorityApproval}
	if i == 0 {
		out.ReplyTo = s.replyTo
	}
	if err := s.announce(ctx, out); err != nil {
		return err
	}
	id, err := s.t.c.g.post(ctx, s.t.address, out)
	if err != nil {
		return err
	}
	s.take(ctx, grown{id, piece})
	return nil
}

// announce records what is about to be posted where it can be looked for: a crash may come before its id is recorded.
func (s *stream) announce(ctx context.Context, out platforms.Outgoing) error {
	if _, ok := s.t.c.g.adapters[s.t.address.Platform].(platforms.Finder); !ok {
		return nil
	}
	s.mu.Lock()
	entry := s.entry()
	s.mu.Unlock()
	entry.Next = &sessions.StreamPost{Key: out.Key, Text: out.Text}
	return s.t.log.append(ctx, sessions.Record{Entries: []sessions.Entry{entry}})
}

// recall looks for what an earlier process may have posted without being able to record it, and goes on in it.
func (s *stream) recall(ctx context.Context) {
	s.calls <- struct{}{}
	defer func() { <-s.calls }()
	out := platforms.Outgoing{Key: s.posting.Key, Text: s.posting.Text}
	if id := s.t.recall(ctx, out); id != "" {
		s.take(ctx, grown{id, out.Text})
	}
}

// take goes on with a message, or removes it if the turn has been closed meanwhile.
func (s *stream) take(ctx context.Context, m grown) {
	s.mu.Lock()
	late := s.late
	s.posted = append(s.posted, m)
	shown := s.entry()
	s.mu.Unlock()
	if late {
		s.t.c.g.remove(s.t.address, m.id)
		return
	}
	s.t.shown(ctx, shown)
}

// interrupted is the last edit of an answer that will never be complete: what it shows, and that there is no more.
func (s *stream) interrupted(last grown) output {
	body := strings.ReplaceAll(last.text, streamCursor, "")
	for {
		text := strings.TrimSpace(markup.Growing(body, "") + "\n\n" + streamBroken)
		if len(s.t.c.g.adapters[s.t.address.Platform].Split(text)) == 1 {
			return lastEdit(s.t.address, last.id, text)
		}
		runes := []rune(body)
		body = string(runes[:len(runes)*9/10])
	}
}
