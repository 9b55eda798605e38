package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// room is what the server's limit must leave beside the data of a message, for its headers.
const room = 4 << 10

// orphanedAfter is how long parts may wait for their message. Whoever publishes them does so within seconds; parts that
// are older were left by a process that died.
const orphanedAfter = time.Hour

// part is one part of a message that was too big for the server.
type part struct {
	data []byte
	at   time.Time
}

// span says where in the stream the parts of a message begin, and where it is itself.
type span struct{ first, last uint64 }

// inParts returns the bytes to publish for a message: the message itself, or, if it is too big, one that says where its
// parts are. They are published here; before their message has come, they mean nothing.
func (s *Store) inParts(ctx context.Context, subject string, m message) ([]byte, error) {
	data, err := json.Marshal(m)
	limit := int(s.js.Conn().MaxPayload()) - room
	if err != nil || len(data) <= limit {
		return data, err
	}
	p := parts{ID: rand.Text()}
	for ; len(data) > 0; p.Count++ {
		n := min(limit, len(data))
		ack, err := s.js.Publish(ctx, s.subjects.part(subject, p.ID, p.Count), data[:n])
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", p.Count, err)
		}
		if p.Count == 0 {
			p.First = ack.Sequence
		}
		data = data[n:]
	}
	return json.Marshal(message{Parts: &p})
}

// whole decodes a message, with what load returns for the subjects of its parts.
func (s *Store) whole(subject string, data []byte, load func(subject string) ([]byte, error)) (m message, p *parts, err error) {
	if err := json.Unmarshal(data, &m); err != nil || m.Parts == nil {
		return m, nil, err
	}
	p, data = m.Parts, nil
	for n := range p.Count {
		d, err := load(s.subjects.part(subject, p.ID, n))
		if err != nil {
			return m, p, fmt.Errorf("part %d of %d: %w", n, p.Count, err)
		}
		data = append(data, d...)
	}
	m = message{}
	return m, p, json.Unmarshal(data, &m)
}

// fetch reads a part from the stream.
func (s *Store) fetch(ctx context.Context) func(subject string) ([]byte, error) {
	return func(subject string) ([]byte, error) {
		m, err := s.stream.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, err
		}
		return m.Data, nil
	}
}

// take returns a part that the projection has kept for its message.
func (s *state) take(subject string) ([]byte, error) {
	p, ok := s.parts[subject]
	if !ok {
		return nil, fmt.Errorf("%s is missing", subject)
	}
	delete(s.parts, subject)
	return p.data, nil
}

// dropParts removes the parts of those messages of a subject that come before a sequence and are gone.
func (s *Store) dropParts(ctx context.Context, subject string, before uint64) error {
	s.mu.Lock()
	spans := s.state.spans[subject]
	for len(spans) > 0 && spans[0].last < before {
		spans = spans[1:]
	}
	some := len(spans) < len(s.state.spans[subject])
	if len(spans) > 0 {
		before = min(before, spans[0].first)
	}
	s.mu.Unlock()
	if !some {
		return nil
	}
	err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subjects.partsOf(subject)), jetstream.WithPurgeSequence(before))
	if err != nil {
		return fmt.Errorf("remove parts: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.spans[subject] = spans; len(spans) == 0 {
		delete(s.state.spans, subject)
	}
	return nil
}

// dropOrphans removes parts whose message never came.
func (s *Store) dropOrphans(ctx context.Context) error {
	s.mu.Lock()
	var orphans []string
	for subject, p := range s.state.parts {
		if time.Since(p.at) > orphanedAfter {
			orphans = append(orphans, subject)
		}
	}
	s.mu.Unlock()
	for _, subject := range orphans {
		if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("remove parts without a message: %w", err)
		}
		s.mu.Lock()
		delete(s.state.parts, subject)
		s.mu.Unlock()
	}
	return nil
}
