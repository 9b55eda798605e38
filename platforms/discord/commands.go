package discord

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
)

// command is an application command, as far as it is ours to set.
type command struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        int      `json:"type"`
	Options     []option `json:"options,omitempty"`
}

type option struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        int    `json:"type"`
	Required    bool   `json:"required,omitempty"`
}

const (
	chatCommand  = 1
	stringOption = 3
)

// RegisterCommands makes the given commands the bot's global ones. Writing the list deletes what is not in it and counts
// against a daily limit, so it is written only if it differs.
func (a *Adapter) RegisterCommands(ctx context.Context, commands []platforms.Command) error {
	me := a.me.Load()
	if me == nil {
		found, err := a.identify(ctx)
		if err != nil {
			return err
		}
		me = &found.identity
	}
	path := "applications/" + url.PathEscape(me.application) + "/commands"
	var present []command
	err := a.api.call(ctx, request{
		op: "list commands", method: http.MethodGet, path: path, priority: platforms.PriorityLookup, repeatable: true, into: &present,
	})
	if err != nil {
		return err
	}
	wanted := []command{}
	for _, c := range commands {
		wanted = append(wanted, commandOf(c))
	}
	if sameCommands(present, wanted) {
		return nil
	}
	return a.api.call(ctx, request{
		op: "write commands", method: http.MethodPut, path: path, priority: platforms.PriorityLookup, repeatable: true, body: wanted,
	})
}

func commandOf(c platforms.Command) command {
	out := command{Name: c.Name, Description: cut(c.Description, 100), Type: chatCommand}
	if c.Argument != "" {
		out.Options = []option{{Name: c.Argument, Description: c.Argument, Type: stringOption}}
	}
	return out
}

func sameCommands(a, b []command) bool {
	byName := func(list []command) []command {
		list = slices.Clone(list)
		for i := range list {
			if len(list[i].Options) == 0 {
				list[i].Options = nil
			}
		}
		slices.SortFunc(list, func(x, y command) int { return strings.Compare(x.Name, y.Name) })
		return list
	}
	return len(a) == len(b) && reflect.DeepEqual(byName(a), byName(b))
}
