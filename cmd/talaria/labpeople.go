package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/talaria-agent/talaria/cmd/talaria/labpage"
	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// The people of the lab. Iris and Paul are on the allowlist, Iris is an admin; Mallory is a stranger.
var (
	telegramPeople = []labpage.User{
		{User: sim.User{ID: "101", Name: "Iris"}},
		{User: sim.User{ID: "102", Name: "Paul"}},
		{User: sim.User{ID: "103", Name: "Mallory"}, Stranger: true},
	}
	slackPeople = []labpage.User{
		{User: sim.User{ID: "U101", Name: "Iris"}},
		{User: sim.User{ID: "U102", Name: "Paul"}},
		{User: sim.User{ID: "U103", Name: "Mallory"}, Stranger: true},
	}
	discordPeople = []labpage.User{
		{User: sim.User{ID: "500000000000000101", Name: "Iris"}},
		{User: sim.User{ID: "500000000000000102", Name: "Paul"}},
		{User: sim.User{ID: "500000000000000103", Name: "Mallory"}, Stranger: true},
	}
)

// place makes a chat of the lab; with no members named it is open to all.
func place(people []labpage.User, id, kind, title string, members ...int) labpage.Chat {
	c := sim.Chat{ID: id, Kind: kind, Title: title}
	for i, p := range people {
		for _, m := range members {
			if m == i {
				c.Members = append(c.Members, p.ID)
			}
		}
	}
	return labpage.Chat{Chat: c}
}

// labStages are the simulators of the lab.
type labStages struct{ telegram, slack, discord sim.Stage }

// panes describes the page: who is there, and where they can write.
func (s labStages) panes() []labpage.Pane {
	t, k, d := telegramPeople, slackPeople, discordPeople
	return []labpage.Pane{
		{
			Platform: platforms.Telegram, Title: "Telegram", Bot: "Talaria", Stage: s.telegram, Users: t,
			Commands: gateway.NativeCommands(),
			Chats: []labpage.Chat{
				place(t, "101", "dm", "Talaria", 0), place(t, "102", "dm", "Talaria", 1), place(t, "103", "dm", "Talaria", 2),
				place(t, "-1001000000001", "group", "Olympus", 0, 1, 2),
			},
		},
		{
			Platform: platforms.Slack, Title: "Slack", Bot: "Talaria", Stage: s.slack, Users: k,
			Chats: []labpage.Chat{
				place(k, "C101", "channel", "general", 0, 1, 2),
				place(k, "D101", "dm", "Talaria", 0), place(k, "D102", "dm", "Talaria", 1), place(k, "D103", "dm", "Talaria", 2),
			},
		},
		{
			Platform: platforms.Discord, Title: "Discord", Bot: "Talaria", Stage: s.discord, Users: d,
			Commands: gateway.NativeCommands(),
			Chats: []labpage.Chat{
				place(d, "600000000000000001", "channel", "general", 0, 1, 2),
				place(d, "600000000000000101", "dm", "Talaria", 0), place(d, "600000000000000102", "dm", "Talaria", 1),
				place(d, "600000000000000103", "dm", "Talaria", 2),
			},
		},
	}
}

func (s labStages) close() {
	s.telegram.Close()
	s.slack.Close()
	s.discord.Close()
}

// people puts the people and places into the simulators.
func (s labStages) people() {
	for _, p := range s.panes() {
		for _, u := range p.Users {
			p.Stage.AddUser(u.User)
		}
		for _, c := range p.Chats {
			p.Stage.AddChat(c.Chat)
		}
	}
}

// labAccess is the allowlist of the lab.
func labAccess() AccessConfig {
	list := func(people []labpage.User, chats ...string) AccessList {
		return AccessList{Users: []string{people[0].ID, people[1].ID}, Admins: []string{people[0].ID}, Chats: chats}
	}
	return AccessConfig{
		Telegram: list(telegramPeople, "-1001000000001"),
		Slack:    list(slackPeople, "C101"),
		Discord:  list(discordPeople, "600000000000000001"),
	}
}

// labFiles puts something to look at into a conversation's new work folder.
func labFiles(folder string) error {
	for name, text := range map[string]string{
		"README.md":      "# Olympus\n\nThe delivery service of the gods. Ask Hermes.\n",
		"notes/todo.txt": "- polish the sandals\n- find out why parcel 7 was late\n- call Zeus back\n",
		"logs/app.log":   appLog(),
		"data/sales.csv": "month,parcels\n2026-08,412\n2026-09,388\n2026-10,451\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// appLog is a log with something to find in it.
func appLog() string {
	text := ""
	for i := range 120 {
		level, message := "INFO", "parcel delivered"
		if i == 77 {
			level, message = "ERROR", "parcel 7: sandal strap broken, returning to base"
		}
		text += fmt.Sprintf("2026-11-30T10:%02d:%02d %s %s\n", i/60, i%60, level, message)
	}
	return text
}
