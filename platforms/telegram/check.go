package telegram

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// allowedUpdates are the kinds of updates that are of use here. They are sent with every poll, because the server
// remembers an earlier list.
const allowedUpdates = `["message","edited_message","callback_query"]`

// Check asks who the bot is, whether its messages go to a webhook, what it hears in groups, and listens for another program
// that takes its messages: of two polls Telegram ends the older one, so if the poll that is made here is ended within that
// time, somebody else polls. Ten seconds find programs that try again soon.
func (a *Adapter) Check(ctx context.Context, listen time.Duration) (platforms.Checked, error) {
	defer a.api.transport.CloseIdleConnections()
	me, err := a.getMe(ctx)
	if err != nil {
		return platforms.Checked{}, err
	}
	c := platforms.Checked{
		Who:  fmt.Sprintf("@%s (%s, id %d)", me.UserName, me.FirstName, me.ID),
		Link: "https://t.me/" + me.UserName,
	}
	if !me.CanJoinGroups {
		c.Problems = append(c.Problems, platforms.Problem{
			What: "nobody can add the bot to a group", Cure: "@BotFather, /setjoingroups, Enable", Minor: true,
		})
	} else if !me.CanReadAllGroupMessages {
		c.Problems = append(c.Problems, platforms.Problem{
			What:  "privacy mode is on: in groups the bot hears only commands, what mentions it, and replies to it",
			Cure:  "if it is to hear all: @BotFather, /setprivacy, Disable, and then add it to the group again",
			Minor: true,
		})
	}
	hook, err := a.webhook(ctx)
	if err != nil {
		return platforms.Checked{}, err
	}
	if hook != "" {
		c.Problems = append(c.Problems, platforms.Problem{
			What: "a webhook is set (" + hook + "), so no messages arrive here",
			Cure: "delete it: open " + DefaultURL + "/bot<token>/deleteWebhook once, with the bot's token in it",
		})
		return c, nil
	}
	if listen > 0 && a.rivalled(ctx, listen) {
		c.Problems = append(c.Problems, platforms.Problem{
			What: "another program receives this bot's messages", Cure: "stop it, or use another token here (@BotFather, /token, makes the old one useless)",
		})
	}
	return c, nil
}

// webhook returns the host that the bot's messages are sent to, empty if there is none. The rest of its address may be
// secret.
func (a *Adapter) webhook(ctx context.Context) (string, error) {
	var info struct {
		URL string `json:"url"`
	}
	err := a.api.do(ctx, call{method: "getWebhookInfo", permit: methodPermit("getWebhookInfo", platforms.PriorityLookup)}, &info)
	if err != nil || info.URL == "" {
		return "", err
	}
	u, err := url.Parse(info.URL)
	if err != nil || u.Host == "" {
		return "somewhere", nil
	}
	return u.Host, nil
}

// rivalled tells whether somebody else polls. It confirms no update, so what waits for the bot goes on waiting; if something
// does, nobody has taken it.
func (a *Adapter) rivalled(ctx context.Context, listen time.Duration) bool {
	err := a.api.do(ctx, call{
		method:  "getUpdates",
		params:  tgbotapi.Params{"timeout": strconv.Itoa(int(listen.Seconds())), "limit": "1", "allowed_updates": allowedUpdates},
		permit:  methodPermit("getUpdates", platforms.PriorityLookup),
		timeout: listen + pollGrace,
	}, nil)
	return codeOf(err) == http.StatusConflict
}
