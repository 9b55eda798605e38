package gateway

import (
	"context"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// rules decide about an update before anything of it is stored: who may, in which conversation, and whether it is meant
// for the bot.
type rules struct {
	access Access
	moves  *moves
	store  sessions.Store
}

func (g *Gateway) rules() rules { return rules{access: g.now().Access, moves: g.moves, store: g.store} }

// key returns the session key of an update.
func (r rules) key(o platforms.Origin) sessions.Key { return SessionKey(r.moves.origin(o)) }

// admit is Access.Decide, for a chat that has moved by any of its ids.
func (r rules) admit(o platforms.Origin) Decision {
	d := r.access.Decide(o)
	if first := r.moves.origin(o); !d.Admitted && first != o {
		return r.access.Decide(first)
	}
	return d
}

// addressed tells whether a message is for the bot: said to it, or said in a thread in which it takes part.
func (r rules) addressed(ctx context.Context, key sessions.Key, m *platforms.Message) (Decision, error) {
	switch {
	case m.Kind == platforms.Direct:
		return Decision{Admitted: true, Rule: "a direct message needs no mention"}, nil
	case m.Mentioned:
		return Decision{Admitted: true, Rule: "it mentions the bot, or replies to it"}, nil
	case m.Kind != platforms.Thread:
		return Decision{Rule: "here only what mentions the bot, or replies to it, is for it"}, nil
	case m.MentionsOther:
		return Decision{Rule: "it mentions somebody else, and not the bot"}, nil
	}
	for _, err := range r.store.History(ctx, key, 0) {
		return Decision{Admitted: err == nil, Rule: "the bot takes part in this thread"}, err
	}
	return Decision{Rule: "the bot does not take part in this thread yet, so it has to be mentioned"}, nil
}

// Explanation is what the rules say about a message.
type Explanation struct {
	Access    Decision
	Key       sessions.Key
	Addressed Decision
	Command   string // the command that it is, empty if it is none
	Admin     bool   // its sender is an admin
}

// Explain says what would become of a message, by the rules that a gateway goes by, with what is stored about chats that
// moved and threads that the bot takes part in. Nothing is done about the message.
func Explain(ctx context.Context, access Access, store sessions.Store, m *platforms.Message) (Explanation, error) {
	r := rules{access: access, moves: &moves{store: store}, store: store}
	if err := r.moves.load(ctx); err != nil {
		return Explanation{}, err
	}
	e := Explanation{Access: r.admit(m.Origin), Key: r.key(m.Origin), Admin: access.Admin(m.Address.Platform, m.Sender.ID)}
	e.Command, _, _ = parseCommand(m)
	var err error
	e.Addressed, err = r.addressed(ctx, e.Key, m)
	return e, err
}
