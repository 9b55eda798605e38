package gateway_test

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/sessions"
)

// verdict counts what became of messages that were not just answered.
type verdict struct {
	lost, repeated int
	superseded     int // by a newer one
	doubtful       int // offered
	untold         int // in doubt, and nobody knows whether the notice arrived either
	begun          int // pieces of answers that a process that was killed has left
}

// check holds what the people see against what the store says.
func (c *chaos) check() (v verdict) {
	c.bench.check()
	ctx := context.Background()
	doubtful := map[string]sessions.RowID{}
	for row, err := range c.disk.Undelivered(ctx) {
		if err != nil {
			c.t.Error(err)
		}
		for _, name := range messageName.FindAllString(string(row.Payload), -1) {
			doubtful[name] = row.ID
		}
	}
	superseded := c.checkLogs(ctx)
	for name, said := range c.said {
		n, offers := c.answers(name, said.place), 0
		if row := doubtful[name]; row != "" {
			v.doubtful++
			offers = c.offers(row, said.place)
		}
		switch {
		case n > 1:
			v.repeated++
			c.t.Errorf("%s was answered %d times", name, n)
		case n == 0 && superseded[said.id] && c.cfg.Busy == gateway.Interrupt:
			v.superseded++
		case n == 0 && offers == 0 && c.noticeGivenUp(doubtful[name]):
			v.untold++
		case n == 0 && offers == 0:
			v.lost++
			c.t.Errorf("%s was not answered; in doubt: %q", name, doubtful[name])
		}
	}
	for name, n := range c.marks.times {
		if n > 1 {
			c.t.Errorf("%q was marked %d times", name, n)
		}
	}
	for _, m := range c.bot("dm", "dm2", "group") {
		if strings.HasSuffix(m.Visible, unfinished) {
			v.begun++
		}
	}
	if v, ok := c.world.stage.(interface{ Violations() []string }); ok && len(v.Violations()) > 0 {
		c.t.Errorf("requests that do not fit the API's description: %s", v.Violations())
	}
	if c.t.Failed() {
		for _, chat := range []string{"dm", "dm2", "group"} {
			for _, m := range c.world.stage.Visible(c.world.places[chat]) {
				c.t.Logf("%s %s %s: %.90q", m.At.Format("15:04:05"), chat, m.User, m.Visible)
			}
		}
		c.t.Logf("log of the gateway:\n%s", c.log)
	}
	return v
}

// unfinished ends an answer that is still being written.
const unfinished = "▌"

// answers counts the answers in which a name stands.
func (c *chaos) answers(name, place string) (n int) {
	for _, m := range c.bot(place) {
		for line := range strings.Lines(m.Visible) {
			i := strings.Index(line, "re: ")
			if i >= 0 && !strings.HasSuffix(m.Visible, unfinished) && slices.Contains(messageName.FindAllString(line[i:], -1), name) {
				n++
			}
		}
	}
	return n
}

// bot returns what the bot has said at some places.
func (c *chaos) bot(places ...string) (all []sim.Message) {
	for _, place := range places {
		for _, m := range c.world.stage.Visible(c.world.places[place]) {
			if m.User == sim.Bot {
				all = append(all, m)
			}
		}
	}
	return all
}

// noticeGivenUp tells whether the notice about a row was tried twice, and nobody knows whether it arrived: it is not tried a
// third time, or it would stand there for ever more often.
func (c *chaos) noticeGivenUp(row sessions.RowID) bool {
	given := regexp.MustCompile(`an answer of unknown outcome" row=` + string(row) + `\.\d+ .*state=dead`)
	return row != "" && given.MatchString(c.log.String())
}

// offers counts the buttons that offer to send a row again.
func (c *chaos) offers(row sessions.RowID, place string) (n int) {
	for _, m := range c.bot(place) {
		for _, buttons := range m.Buttons {
			for _, b := range buttons {
				if strings.Contains(b.Data, string(row)) {
					n++
				}
			}
		}
	}
	return n
}

// checkLogs folds all logs and checks their ledgers. It returns the platform's ids of the messages that were superseded.
func (c *chaos) checkLogs(ctx context.Context) map[string]bool {
	superseded := map[string]bool{}
	for key, err := range c.disk.Keys(ctx) {
		if err != nil {
			c.t.Error(err)
			continue
		}
		s := &sessions.Session{Key: key}
		for r, err := range c.disk.History(ctx, key, 0) {
			if err == nil {
				err = s.Apply(r)
			}
			for _, id := range r.Consumed {
				superseded[path.Base(string(id))] = gateway.EndingOf(r) == gateway.Superseded
			}
			if err != nil {
				c.t.Errorf("%s: %v", key, err)
				break
			}
		}
		if s.Turn != nil {
			c.t.Errorf("%s: turn %s stands open", key, s.Turn.ID)
		}
		if err := loop.CheckLedger(s.Messages); err != nil {
			c.t.Errorf("%s: %v", key, err)
		}
	}
	return superseded
}
