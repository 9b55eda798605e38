package gateway

import (
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// directory knows the conversations that are awake. Posting to one that sleeps wakes it.
type directory struct {
	g     *Gateway
	mu    sync.Mutex
	awake map[sessions.Key]*conversation
	over  bool // nobody is woken any more; what is durable comes with the next start
	done  sync.WaitGroup
}

func newDirectory(g *Gateway) *directory {
	return &directory{g: g, awake: map[sessions.Key]*conversation{}}
}

// post gives a conversation its next piece of mail (*input, doubtful, undeliverable, notice, leftOver, unsure or erasing); nil only wakes it. It never blocks.
func (d *directory) post(key sessions.Key, mail any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	c := d.awake[key]
	if c == nil {
		c = newConversation(d.g, key)
		d.awake[key] = c
		d.done.Go(c.run)
	}
	if mail != nil {
		c.mail = append(c.mail, mail)
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// collect takes a conversation's mail.
func (d *directory) collect(c *conversation) []any {
	d.mu.Lock()
	defer d.mu.Unlock()
	mail := c.mail
	c.mail = nil
	return mail
}

// len returns how many conversations are awake.
func (d *directory) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.awake)
}

// retire puts a conversation to sleep, unless mail has come.
func (d *directory) retire(c *conversation) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(c.mail) > 0 {
		return false
	}
	delete(d.awake, c.key)
	if len(d.awake) == 0 {
		d.awake = map[sessions.Key]*conversation{} // one that was full keeps its room
	}
	return true
}

// wait returns when all conversations have ended, or after a while. From its call on nobody is woken.
func (d *directory) wait(atMost time.Duration) {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	if !waitAtMost(&d.done, atMost) {
		d.g.log.Error("conversations did not end in time; what they were doing counts as unknown")
	}
}

// waitAtMost waits for a group, and reports whether it was done in time.
func waitAtMost(group *sync.WaitGroup, atMost time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	return waitAtMostFor(ended, atMost)
}

// waitAtMostFor waits for a channel to be closed, not longer than given, and reports whether it was.
func waitAtMostFor(c <-chan struct{}, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
