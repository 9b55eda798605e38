package terminal

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/shellpolicy"
)

// judge says whether a person must be asked before a command runs.
func (t *terminal) judge(scope tools.Scope, raw json.RawMessage) tools.Judgement {
	var a arguments
	if err := json.Unmarshal(raw, &a); err != nil {
		return tools.Judgement{Verdict: tools.Allow} // it will not run
	}
	dir := a.Workdir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(scope.Work, dir)
	}
	found := shellpolicy.Judge(a.Command, shellpolicy.Rules{
		Work: scope.Work, Dir: filepath.Clean(dir), Own: t.options.Own, Home: t.options.Home, PID: t.options.PID, Deny: t.options.Deny,
		Contained: t.sandbox.Contained(), Network: t.options.Network,
	})
	j := tools.Judgement{Verdict: found.Verdict, Reason: found.Reason(), Fleeting: found.Opaque}
	if a.Network || found.Has(shellpolicy.Network) {
		j.Grants = []tools.Grant{tools.GrantNetwork}
	}
	if a.Secrets || found.Has(shellpolicy.Secrets) {
		j.Grants = append(j.Grants, tools.GrantSecrets)
	}
	if a.Secrets && j.Verdict != tools.DenyAlways {
		j.Verdict, j.Reason = tools.AskFirst, strings.TrimSpace("It wants to see the files that hold credentials. "+j.Reason)
	}
	if a.Network && !t.options.Network && !found.Has(shellpolicy.Network) && j.Verdict != tools.DenyAlways {
		j.Verdict, j.Reason = tools.AskFirst, strings.TrimSpace("It wants to use the network. "+j.Reason)
	}
	if j.Verdict == tools.AskFirst {
		env := strings.Join(environment(scope.Work, "", a.Pty), "\x00")
		j.Rule = tools.Rule("terminal", a.Command, filepath.Clean(dir), env, t.sandbox.Name(), string(raw))
	}
	return j
}
