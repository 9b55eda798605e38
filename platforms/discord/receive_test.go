package discord

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

func TestMessages(t *testing.T) {
	person := platforms.Person{ID: ann, Name: "Ann"}
	inGeneral := platforms.Origin{Address: at(general), Kind: platforms.Channel, Sender: person, Title: "general"}
	for name, c := range map[string]struct {
		say  sim.Say
		want platforms.Message
	}{
		"dm": {
			sim.Say{Chat: dm, Text: "hello"},
			platforms.Message{Origin: platforms.Origin{Address: at(dm), Kind: platforms.Direct, Sender: person, Title: "Ann"}, Text: "hello", Mentioned: true},
		},
		"channel": {sim.Say{Chat: general, Text: "hello all"}, platforms.Message{Origin: inGeneral, Text: "hello all"}},
		"mention": {sim.Say{Chat: general, Text: "help", Mention: true}, platforms.Message{Origin: inGeneral, Text: "help", Mentioned: true}},
		"old form of a mention": {
			sim.Say{Chat: general, Text: "<@!" + simulator.BotUser + ">, help"}, platforms.Message{Origin: inGeneral, Text: "help", Mentioned: true},
		},
		"role": {
			sim.Say{Chat: general, Text: "<@&" + simulator.BotRole + "> help"}, platforms.Message{Origin: inGeneral, Text: "help", Mentioned: true},
		},
		"everyone":     {sim.Say{Chat: general, Text: "@everyone hi"}, platforms.Message{Origin: inGeneral, Text: "@everyone hi"}},
		"someone else": {sim.Say{Chat: general, Text: "<@" + bob + "> hi"}, platforms.Message{Origin: inGeneral, Text: "@Bob hi", MentionsOther: true}},
		"both": {
			sim.Say{Chat: general, Text: "<@" + bob + "> look", Mention: true},
			platforms.Message{Origin: inGeneral, Text: "@Bob look", Mentioned: true},
		},
		"thread": {
			sim.Say{Chat: general, Thread: "4001", Text: "in a thread"},
			platforms.Message{
				Origin: platforms.Origin{Address: in(general, "4001"), Kind: platforms.Thread, Sender: person, Title: "thread 4001"}, Text: "in a thread",
			},
		},
		"forum post": {
			sim.Say{Chat: forum, Thread: "4002", Text: "a question"},
			platforms.Message{
				Origin: platforms.Origin{Address: in(forum, "4002"), Kind: platforms.Thread, Sender: person, Title: "thread 4002"}, Text: "a question",
			},
		},
		"attachment only": {
			sim.Say{Chat: dm, File: "notes.bin"},
			platforms.Message{
				Origin:      platforms.Origin{Address: at(dm), Kind: platforms.Direct, Sender: person, Title: "Ann"},
				Attachments: []platforms.Attachment{{Kind: "document", Name: "notes.bin", Type: "text/plain", Size: 19}}, Mentioned: true,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, simulator.Options{})
				c.say.User = ann
				id := r.say(c.say)
				c.want.ID, c.want.Native = id, "discord/"+simulator.Application+"/m/"+id
				got := one[*platforms.Message](r)
				ignore := cmpopts.IgnoreFields(platforms.Attachment{}, "Ref")
				if diff := cmp.Diff(&c.want, got, cmpopts.IgnoreFields(platforms.Message{}, "At"), ignore); diff != "" {
					t.Error(diff)
				}
				if got.At.IsZero() {
					t.Error("the message has no time")
				}
			})
		})
	}
}
