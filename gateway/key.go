package gateway

import (
	"fmt"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// SessionKey returns the key of the conversation that an update belongs to. It is the only builder of keys, and its
// format is permanent: logs are stored under it.
//
//	direct message             platform/account/dm/chat           (a thread or private topic: /thread)
//	group or channel           platform/account/kind/chat/user/id  one a person
//	topic or thread            platform/account/kind/chat/thread   shared by all who write there
func SessionKey(o platforms.Origin) sessions.Key {
	a := o.Address
	base := fmt.Sprintf("%s/%s/%s/%s", a.Platform, a.Account, o.Kind, a.Chat)
	switch o.Kind {
	case platforms.Topic, platforms.Thread:
		return sessions.Key(base + "/" + a.Thread)
	case platforms.Group, platforms.Channel:
		return sessions.Key(base + "/user/" + o.Sender.ID)
	}
	if a.Thread != "" {
		base += "/" + a.Thread
	}
	return sessions.Key(base)
}

// The kinds of conversations that nobody writes in: each belongs to a person in a chat.
const (
	jobKind  = "job"  // the runs of a job
	taskKind = "task" // a task in the background
)

// errandKey returns the key of a job's runs, or of a task in the background, that a person has made at an origin.
//
//	job     platform/account/job/chat/user/id/number
//	task    platform/account/task/chat/user/id/number
func errandKey(kind string, o platforms.Origin, number int) sessions.Key {
	a := o.Address
	return sessions.Key(fmt.Sprintf("%s/%s/%s/%s/user/%s/%d", a.Platform, a.Account, kind, a.Chat, o.Sender.ID, number))
}

// chatOf names a chat, all its threads together: what is noted about people belongs to a person in a chat.
func chatOf(a platforms.Address) string {
	return fmt.Sprintf("%s/%s/%s", a.Platform, a.Account, a.Chat)
}

// shared tells whether several people write in the conversations of this kind.
func shared(kind platforms.ChatKind) bool {
	return kind == platforms.Topic || kind == platforms.Thread
}
