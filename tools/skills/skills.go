// Package skills is the toolset of written experience: a skill is a folder with a SKILL.md that says how something is
// done here, as several assistants read it. Names and descriptions stand in the prompt; skill_view reads the rest when it
// is needed, and skill_manage writes new ones.
//
// Nothing is kept in memory: each look reads the folders, through an os.Root on each, so no symbolic link and no ".."
// leads out of them. No goroutines. A skill that is not usable is named with the reason and harms no other. What a
// skill's scripts do is the terminal's affair: nothing here runs anything.
package skills

import (
	_ "embed"

	"github.com/talaria-agent/talaria/tools"
)

// Toolset is the name under which the config and people know these tools.
const Toolset = "skills"

var (
	//go:embed skill_view.md
	viewDescription string
	//go:embed skill_manage.md
	manageDescription string
)

// Options says where skills are.
type Options struct {
	// Dirs are folders of the operator's, in which folders with a SKILL.md lie at most three levels deep. Of two skills of
	// one name the one in the earlier folder counts; all of them go before those that come with the program.
	Dirs []string
	// Own is the folder of what the assistant writes itself; it is made when there is something to write.
	Own string
	// Suspicious says why a text looks as if somebody wanted to take the assistant over with it; empty = it does not.
	Suspicious func(text string) string
}

// New returns the tools skill_view and skill_manage over a library.
func New(l *Library) ([]tools.Tool, error) {
	view, err := newView(l)
	if err != nil {
		return nil, err
	}
	manage, err := newManage(l)
	if err != nil {
		return nil, err
	}
	return []tools.Tool{view, manage}, nil
}
