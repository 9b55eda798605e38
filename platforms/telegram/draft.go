package telegram

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// draftFor is how long Telegram's apps show a draft (core.telegram.org/bots/api#sendmessagedraft).
const draftFor = 30 * time.Second

// Draft shows a text that is still being written, in private chats alone: elsewhere Telegram refuses it, and it is not
// even asked. How often a draft may change is not published; it is paced like an edit.
func (a *Adapter) Draft(ctx context.Context, at platforms.Address, out platforms.Outgoing) error {
	c := call{method: "sendMessageDraft", permit: chatPermit(at.Chat, out.Class)}
	if isGroup(at.Chat) {
		return &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: errors.New("only private chats have drafts")}
	}
	params, err := a.text(out)
	if err != nil {
		return &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: err}
	}
	params["chat_id"], params["draft_id"] = at.Chat, draftID(out.Key)
	params.AddNonEmpty("message_thread_id", at.Thread)
	c.params = params
	return a.api.do(ctx, c, nil)
}

// isGroup tells whether a chat is no private one: groups and channels have negative ids.
func isGroup(chat string) bool { return strings.HasPrefix(chat, "-") }

// draftID makes a draft's number of its key. It is never zero, and small enough to be exact in every JSON reader.
func draftID(key string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return strconv.FormatUint(h.Sum64()>>12|1, 10)
}
