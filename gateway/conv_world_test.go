package gateway_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/discord"
	"github.com/talaria-agent/talaria/platforms/sim"
	simdiscord "github.com/talaria-agent/talaria/platforms/sim/discord"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
	"github.com/talaria-agent/talaria/platforms/slack"
	"github.com/talaria-agent/talaria/platforms/telegram"
)

// world is one platform as the scripts see it: the same people and places everywhere.
type world struct {
	name       platforms.Name
	stage      sim.Stage
	adapter    func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error)
	users      map[string]string // name -> id
	places     map[string]string // dm, dm2, dmx, group -> chat id
	forum      string            // the chat that threads are in
	thread     string            // id of the thread, "" = the first message's own
	send, edit string            // methods, for faults
}

func newWorld(p platforms.Name) world {
	switch p {
	case platforms.Telegram:
		const token = "7000000001:" + canary
		w := world{
			name: p, stage: simtelegram.New(simtelegram.Options{Token: token, BotID: 7000000001}),
			users:  map[string]string{"alice": "101", "bob": "102", "mallory": "103"},
			places: map[string]string{"dm": "101", "dm2": "102", "dmx": "103", "group": "-5001"},
			forum:  "-1001000000002", thread: "5", send: "sendMessage", edit: "editMessageText",
		}
		w.adapter = func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error) {
			return telegram.New(telegram.Config{Token: token, APIURL: "http://telegram.test", Dial: net.Dial, Log: log})
		}
		return w
	case platforms.Slack:
		w := world{
			name: p, stage: simslack.New(simslack.Config{BotToken: "xoxb-" + canary, AppToken: "xapp-" + canary}),
			users:  map[string]string{"alice": "U101", "bob": "U102", "mallory": "U103"},
			places: map[string]string{"dm": "D101", "dm2": "D102", "dmx": "D103", "group": "C101"},
			forum:  "C102", send: "chat.postMessage", edit: "chat.update",
		}
		w.adapter = func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error) {
			return slack.New(slack.Config{
				BotToken: "xoxb-" + canary, AppToken: "xapp-" + canary, APIURL: "http://slack.test/api/", Dial: net.Dial, Log: log,
			})
		}
		return w
	default:
		w := world{
			name: p, stage: simdiscord.New(simdiscord.Options{Token: canary}),
			users:  map[string]string{"alice": "500000000000000101", "bob": "500000000000000102", "mallory": "500000000000000103"},
			places: map[string]string{"dm": "600000000000000101", "dm2": "600000000000000102", "dmx": "600000000000000103", "group": "600000000000000001"},
			forum:  "600000000000000002", thread: "600000000000000777", send: "POST /channels/messages", edit: "PATCH /channels/messages",
		}
		w.adapter = func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error) {
			return discord.New(discord.Config{Token: canary, APIURL: "http://discord.test", Dial: net.Dial, Log: log})
		}
		return w
	}
}

// people puts alice and bob, who may, and mallory, who may not, into the world.
func (w world) people() {
	var all []string
	for name, id := range w.users {
		w.stage.AddUser(sim.User{ID: id, Name: strings.ToUpper(name[:1]) + name[1:]})
		all = append(all, id)
	}
	for place, user := range map[string]string{"dm": "alice", "dm2": "bob", "dmx": "mallory"} {
		w.stage.AddChat(sim.Chat{ID: w.places[place], Kind: "dm", Title: user, Members: []string{w.users[user]}})
	}
	kind, forum := "channel", "channel"
	if w.name == platforms.Telegram {
		kind, forum = "group", "forum"
	}
	w.stage.AddChat(sim.Chat{ID: w.places["group"], Kind: kind, Title: "Olympus", Members: all})
	w.stage.AddChat(sim.Chat{ID: w.forum, Kind: forum, Title: "Forum", Members: all})
}

// checkRequests makes a simulator check every request field by field, where the platform's official description may be
// part of this repository. Elsewhere the adapter's own tests do.
func (w world) checkRequests(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("../platforms/sim/testdata", string(w.name)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	description, err := spec.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	w.stage.(interface{ CheckAgainst(spec.Description) }).CheckAgainst(description)
}
