package nats

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/talaria-agent/talaria/sessions"
)

// publish publishes a message if check allows it and nothing else has been published on its subject since the state
// that was checked. It returns the message's sequence, when the projection has it.
func (s *Store) publish(ctx context.Context, subject string, m message, check func(*state) error) (uint64, error) {
	data, err := s.inParts(ctx, subject, m)
	if err != nil {
		return 0, full(err)
	}
	for synced := false; ; synced = true {
		s.mu.Lock()
		last, err, broken := s.state.last[subject], check(s.state), s.broken
		s.mu.Unlock()
		if broken != nil {
			return 0, broken
		}
		if err == nil {
			var seq uint64
			if seq, err = s.send(ctx, subject, m.replaces(), data, last); err == nil {
				if err := s.wait(ctx, seq); err != nil || !m.replaces() {
					return seq, err
				}
				return seq, s.dropParts(ctx, subject, seq)
			}
			if !moved(err) {
				return 0, full(err)
			}
		} else if synced {
			return 0, err
		}
		if err := s.sync(ctx); err != nil {
			return 0, err
		}
	}
}

// send publishes if last is the last sequence of the subject, zero if there must be none.
func (s *Store) send(ctx context.Context, subject string, replace bool, data []byte, last uint64) (uint64, error) {
	m := nats.NewMsg(subject)
	m.Data = data
	if replace {
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	}
	ack, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(last))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// moved tells whether the server refused because the subject's last sequence is another one.
func moved(err error) bool {
	var e *jetstream.APIError
	return errors.As(err, &e) && (e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// full says that the server has no room, if that is why it refused.
func full(err error) error {
	var e *jetstream.APIError
	if errors.As(err, &e) && (e.ErrorCode == noStorage || e.ErrorCode == noResources || e.ErrorCode == streamFull) {
		return fmt.Errorf("%w: %w", sessions.ErrFull, err)
	}
	return err
}

// Codes of the server for which the client has no names.
const (
	noResources jetstream.ErrorCode = 10023
	noStorage   jetstream.ErrorCode = 10047
	streamFull  jetstream.ErrorCode = 10077
)

// receive applies the stream's messages, in their order.
func (s *Store) receive(m jetstream.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return
	}
	if err := s.apply(m); err != nil {
		s.broken = fmt.Errorf("read stream: %w", err)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store) apply(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	seq := meta.Sequence.Stream
	if s.subjects.isPart(m.Subject()) {
		s.state.applied = seq
		s.state.parts[m.Subject()] = part{m.Data(), meta.Timestamp}
		return nil
	}
	d, p, err := s.whole(m.Subject(), m.Data(), s.state.take)
	if err != nil {
		return fmt.Errorf("message %d: %w", seq, err)
	}
	if p != nil {
		s.state.spans[m.Subject()] = append(s.state.spans[m.Subject()], span{p.First, seq})
	}
	return s.state.apply(m.Subject(), seq, d)
}

// sync waits until the projection has all that is in the stream now. The last message of the stream is never one that
// has been removed: what replaces others comes after them.
func (s *Store) sync(ctx context.Context) error {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return err
	}
	return s.wait(ctx, info.State.LastSeq)
}

// wait waits until the projection has this sequence.
func (s *Store) wait(ctx context.Context, seq uint64) error {
	for {
		s.mu.Lock()
		applied, changed, broken := s.state.applied, s.changed, s.broken
		s.mu.Unlock()
		if broken != nil {
			return broken
		}
		if applied >= seq {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// record returns the first record of a key from a revision on, the zero Record if there is none.
func (s *Store) record(ctx context.Context, key sessions.Key, from sessions.Revision) (sessions.Record, error) {
	for seq := uint64(from); ; {
		m, err := s.stream.GetMsg(ctx, max(seq, 1), jetstream.WithGetMsgSubject(s.subjects.log(key)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return sessions.Record{}, nil
		}
		if err != nil {
			return sessions.Record{}, err
		}
		d, _, err := s.whole(m.Subject, m.Data, s.fetch(ctx))
		if err != nil {
			return sessions.Record{}, fmt.Errorf("message %d: %w", m.Sequence, err)
		}
		if d.Record != nil {
			return sessions.DecodeRecord(d.Record, sessions.Revision(m.Sequence))
		}
		seq = m.Sequence + 1 // a lease
	}
}
