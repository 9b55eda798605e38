package gateway_test

import (
	"fmt"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/skills"
)

// agentTools makes the agent-level tools that a script asks for by "agent = NAME, NAME" in its config.
func (r *rig) agentTools() (all []tools.Tool, err error) {
	for _, name := range r.agent {
		var set []tools.Tool
		switch name {
		case "todo":
			set, err = agenttools.NewTodo()
		case "clarify":
			set, err = agenttools.NewClarify()
		case "memory":
			notes := agenttools.NewNotes(r.cfg.WorkRoot+"-notes", agenttools.DefaultMemoryLimit, agenttools.DefaultUserLimit)
			r.notebook = notes
			set, err = agenttools.NewMemory(notes)
		case "skills":
			library := skills.NewLibrary(skills.Options{Own: r.cfg.WorkRoot + "-skills", Suspicious: loop.Suspicious})
			r.skillbook = library
			set, err = skills.New(library)
		case "session_search":
			set, err = r.search.Tools()
		case "delegation":
			set, err = agenttools.NewDelegation(agenttools.Delegation{MaxIterations: 5, MaxParallel: 2})
		default:
			err = fmt.Errorf("config: no agent tools %q", name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, set...)
	}
	return all, nil
}
