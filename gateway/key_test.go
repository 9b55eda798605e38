package gateway

import (
	"testing"

	"github.com/talaria-agent/talaria/platforms"
)

// TestSessionKey holds the literal keys: logs are stored under them, so they may never change.
func TestSessionKey(t *testing.T) {
	origin := func(p platforms.Name, account string, kind platforms.ChatKind, chat, thread string) platforms.Origin {
		return platforms.Origin{
			Address: platforms.Address{Platform: p, Account: account, Chat: chat, Thread: thread},
			Kind:    kind, Sender: platforms.Person{ID: "7"},
		}
	}
	for _, test := range []struct {
		where  string
		origin platforms.Origin
		want   string
	}{
		{"Slack DM, top level", origin("slack", "T1", platforms.Direct, "D1", ""), "slack/T1/dm/D1"},
		{"Slack DM, in a thread", origin("slack", "T1", platforms.Direct, "D1", "1700000000.000100"), "slack/T1/dm/D1/1700000000.000100"},
		{"Slack channel", origin("slack", "T1", platforms.Thread, "C1", "1700000000.000100"), "slack/T1/thread/C1/1700000000.000100"},
		{"Slack group DM", origin("slack", "T1", platforms.Thread, "G1", "1700000000.000200"), "slack/T1/thread/G1/1700000000.000200"},
		{"Telegram DM", origin("telegram", "42", platforms.Direct, "7", ""), "telegram/42/dm/7"},
		{"Telegram private topic", origin("telegram", "42", platforms.Direct, "7", "9"), "telegram/42/dm/7/9"},
		{"Telegram group", origin("telegram", "42", platforms.Group, "-100", ""), "telegram/42/group/-100/user/7"},
		{"Telegram forum topic", origin("telegram", "42", platforms.Topic, "-100", "5"), "telegram/42/topic/-100/5"},
		{"Telegram General topic", origin("telegram", "42", platforms.Topic, "-100", "general"), "telegram/42/topic/-100/general"},
		{"Discord DM", origin("discord", "A1", platforms.Direct, "300", ""), "discord/A1/dm/300"},
		{"Discord channel", origin("discord", "A1", platforms.Channel, "400", ""), "discord/A1/channel/400/user/7"},
		{"Discord thread", origin("discord", "A1", platforms.Thread, "400", "500"), "discord/A1/thread/400/500"},
	} {
		if got := string(SessionKey(test.origin)); got != test.want {
			t.Errorf("%s: key is %q, want %q", test.where, got, test.want)
		}
	}
	for _, test := range []struct {
		kind   string
		origin platforms.Origin
		want   string
	}{
		{jobKind, origin("slack", "T1", platforms.Thread, "C1", "1700000000.000100"), "slack/T1/job/C1/user/7/12"},
		{taskKind, origin("telegram", "42", platforms.Direct, "7", ""), "telegram/42/task/7/user/7/12"},
	} {
		got := errandKey(test.kind, test.origin, 12)
		if string(got) != test.want {
			t.Errorf("%s: key is %q, want %q", test.kind, got, test.want)
		}
		if p, ok := takeApart(got); !ok || p.user != "7" || p.chat != test.origin.Address.Chat {
			t.Errorf("%s: taken apart it is %+v", test.kind, p)
		}
	}
}
