package discord

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxCommands = 100 // global ones

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

func (s *Server) getCommands(c *call) (int, any, error) {
	if c.PathValue("application") != s.opts.Application {
		return 0, nil, unknown("application_id", c.PathValue("application"), errUnknownApplication)
	}
	return http.StatusOK, slices.Concat([]object{}, s.commands), nil
}

// putCommands replaces all global commands: what is not in the list is deleted.
func (s *Server) putCommands(c *call) (int, any, error) {
	if c.PathValue("application") != s.opts.Application {
		return 0, nil, unknown("application_id", c.PathValue("application"), errUnknownApplication)
	}
	given, _ := c.body.([]any)
	if bad := checkCommands(given); bad != nil {
		return 0, nil, bad
	}
	commands := []object{}
	for _, g := range given {
		o, _ := g.(object)
		o = maps.Clone(o)
		o["id"], o["application_id"], o["version"] = s.ids.next(), s.opts.Application, s.ids.next()
		if o["type"] == nil {
			o["type"] = 1
		}
		o["default_member_permissions"], o["dm_permission"], o["nsfw"] = nil, true, false
		commands = append(commands, o)
	}
	s.commands = commands
	s.commandPuts++
	return http.StatusOK, commands, nil
}

func checkCommands(given []any) *problem {
	if len(given) > maxCommands {
		return invalidForm(tooLong("commands", maxCommands))
	}
	var bad []fieldError
	seen := map[string]bool{}
	for i, g := range given {
		at := fmt.Sprint(i)
		bad = append(bad, checkNamed(at, g)...)
		if seen[text(g, "name")] {
			bad = append(bad, fieldError{at, "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"})
		}
		seen[text(g, "name")] = true
		for j, o := range list(g, "options") {
			option, _ := o.(object)
			path := fmt.Sprintf("%s.options.%d", at, j)
			bad = append(bad, checkNamed(path, o)...)
			if t, _ := option["type"].(float64); t < 1 || t > 11 {
				bad = append(bad, badChoice(path+".type", "Value must be one of {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}."))
			}
		}
	}
	if len(bad) > 0 {
		return invalidForm(bad...)
	}
	return nil
}

// checkNamed checks the name and the description of a command or an option.
func checkNamed(at string, v any) (bad []fieldError) {
	name, description := text(v, "name"), text(v, "description")
	if !commandName.MatchString(name) || name != strings.ToLower(name) {
		bad = append(bad, fieldError{at + ".name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"})
	}
	if n := utf8.RuneCountInString(description); n == 0 {
		bad = append(bad, required(at+".description"))
	} else if n > 100 {
		bad = append(bad, badLength(at+".description", 1, 100))
	}
	return bad
}

// Commands returns the names of the registered commands and how often the list was written.
func (s *Server) Commands() (names []string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		names = append(names, text(c, "name"))
	}
	return names, s.commandPuts
}
