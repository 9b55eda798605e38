package slack

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	mostNames  = 4096
	nameFresh  = time.Hour
	nameRetry  = 5 * time.Minute        // after a look-up that failed
	nameWithin = 500 * time.Millisecond // an event waits no longer for names
)

// names knows what people and conversations are called. It is a bounded cache; a name that cannot be had at once is left
// out, for names are decoration.
type names struct {
	adapter *Adapter

	mu    sync.Mutex
	known map[string]name // by id; ids of people and conversations differ
}

type name struct {
	text  string
	until time.Time
}

func newNames(a *Adapter) *names { return &names{adapter: a, known: map[string]name{}} }

// fill adds the names that are missing in an origin.
func (n *names) fill(ctx context.Context, o *platforms.Origin) {
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	if o.Sender.Name == "" && o.Sender.ID != "" {
		o.Sender.Name = n.get(ctx, o.Sender.ID, "users.info", n.user)
	}
	if o.Title == "" && o.Kind != platforms.Direct {
		o.Title = n.get(ctx, o.Address.Chat, "conversations.info", n.conversation)
	}
}

func (n *names) get(ctx context.Context, id, method string, ask func(context.Context, string) (string, error)) string {
	n.mu.Lock()
	known, ok := n.known[id]
	n.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.text
	}
	var text string
	op := operation{method: method, priority: platforms.PriorityLookup, now: true, repeat: true}
	err := n.adapter.call(ctx, op, func(ctx context.Context) (err error) {
		text, err = ask(ctx, id)
		return err
	})
	switch {
	case errors.Is(err, errNoPermit):
		return known.text
	case err != nil:
		n.keep(id, name{known.text, time.Now().Add(nameRetry)}) // a stale name is better than none
		return known.text
	}
	n.keep(id, name{text, time.Now().Add(nameFresh)})
	return text
}

// keep stores a name; when the cache is full some other one has to go.
func (n *names) keep(id string, what name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[id]; !ok && len(n.known) >= mostNames {
		for other := range n.known {
			delete(n.known, other)
			break
		}
	}
	n.known[id] = what
}

func (n *names) user(ctx context.Context, id string) (string, error) {
	u, err := n.adapter.api.GetUserInfoContext(ctx, id)
	if err != nil {
		return "", err
	}
	for _, name := range []string{u.Profile.DisplayName, u.RealName, u.Name} {
		if name != "" {
			return name, nil
		}
	}
	return "", nil
}

func (n *names) conversation(ctx context.Context, id string) (string, error) {
	c, err := n.adapter.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		return "", err
	}
	return c.Name, nil
}
