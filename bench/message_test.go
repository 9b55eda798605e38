package bench

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/loop/demo"
)

// BenchmarkMessage: from plain messages on Telegram to their answers, with a model without latency and bbolt, against a
// bare bot that makes the same calls (see bot): one that makes each message durable and nothing else ("one sync"), and one
// that makes as many bare commits as we do ("commits"). "one by one" is 20 people's messages after each other; otherwise
// they all write at once. Goals: commits at most 4 a message; against the second bot at most 1.2 one by one, and at most 2
// (half the throughput) with 50 and 500 chats. The servers of Telegram and the model run in the same process and cost
// both sides the same.
func BenchmarkMessage(b *testing.B) {
	p := newScripted(b, func(demo.Request) demo.Response { return demo.Say("All is well.") })
	first, commits := p.plain(b)
	for _, versus := range []struct {
		name    string
		commits int
	}{{"one sync", 1}, {"commits", int(math.Round(commits))}} {
		for _, c := range []struct {
			name                   string
			people, atOnce, rounds int
		}{{"one by one", 20, 1, 15}, {"50 chats", 50, 50, 11}, {"500 chats", 500, 500, 5}} {
			b.Run(versus.name+"/"+c.name, func(b *testing.B) {
				ours, bare := newTown(b, c.people), newTown(b, c.people)
				inTown(b, ours, p.model)
				t := newBot(b, bare, p.newClient(b, first), versus.commits)
				defer t.start(t.answer)()
				round := func(t *town) func() {
					return func() {
						for i := 0; i < c.people; i += c.atOnce {
							t.ask(b, i, i+c.atOnce)
						}
						p.take()
					}
				}
				pairs(b, c.rounds, round(ours), round(bare))
				b.ReportMetric(commits, "commits/message")
			})
		}
	}
}

// plain returns the model's first request for a plain message, and how many commits such a message takes.
func (p *provider) plain(b *testing.B) (first []byte, commits float64) {
	const messages = 20
	t := newTown(b, 1)
	h := inTown(b, t, p.model)
	defer h.stop()
	t.ask(b, 0, 1)
	first = p.take()[0]
	before := h.store.commits.Load()
	for range messages { // one after the other, so that the last one's are missing at most
		t.ask(b, 0, 1)
	}
	return first, float64(h.store.commits.Load()-before) / messages
}

// newBot returns a bot in a town that makes so many commits a message, and goes on as the client does.
func newBot(b *testing.B, t *town, c client, commits int) *bot {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	return &bot{
		b: b, town: t, client: c, steps: spread(commits), chats: map[int64]*client{},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		commit: func() {
			if err := bareCommit(db); err != nil {
				b.Error(err)
			}
		},
	}
}

// bareCommit makes a commit of the usual size.
func bareCommit(db *bbolt.DB) error {
	return db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte("records"))
		if err != nil {
			return err
		}
		n, err := bucket.NextSequence()
		if err != nil {
			return fmt.Errorf("number a record: %w", err)
		}
		return bucket.Put(binary.BigEndian.AppendUint64(nil, n), make([]byte, 300))
	})
}
