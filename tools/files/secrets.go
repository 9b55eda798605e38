package files

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// DefaultSecrets are patterns of files that usually hold credentials, see NewSecrets.
func DefaultSecrets() []string {
	return []string{
		".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc",
		".git-credentials", ".htpasswd", ".vault-token", "credentials.json", "**/.aws/credentials", "**/.docker/config.json",
		"**/.kube/config", "**/.ssh/**", "**/.gnupg/**",
	}
}

// Secrets knows which files hold credentials. Safe for use from any goroutine.
type Secrets struct{ rules []rule }

// NewSecrets reads patterns: globs for a name, or with a slash for a path in the work folder, where ** is any folders. A
// pattern that begins with "!" takes files out again; the last one that fits counts. Upper and lower case are the same.
func NewSecrets(patterns []string) (*Secrets, error) {
	s := &Secrets{}
	for _, p := range patterns {
		name, except := strings.CutPrefix(strings.ToLower(p), "!")
		g, err := parseGlob(name, false)
		if err != nil {
			return nil, err
		}
		s.rules = append(s.rules, rule{glob: g, except: except})
	}
	return s, nil
}

// Match tells whether the file at a path in the work folder holds credentials.
func (s *Secrets) Match(path string) bool {
	found, _ := decide(s.rules, strings.ToLower(path), false)
	return found
}

// judge asks a person before a file with credentials is touched, and leaves everything else to the risk.
func (s *Secrets) judge(tool string, paths func(json.RawMessage) []string) func(tools.Scope, json.RawMessage) tools.Judgement {
	return func(scope tools.Scope, arguments json.RawMessage) tools.Judgement {
		for _, p := range paths(arguments) {
			if name, err := inside(scope.Work, p); err == nil && s.Match(name) {
				return tools.Judgement{
					Verdict: tools.AskFirst, Reason: fmt.Sprintf("Files like %s hold credentials, and the model would see or change them.", name),
					Grants: []tools.Grant{tools.GrantSecrets}, Rule: tools.Rule(tool, string(arguments), scope.Work),
				}
			}
		}
		return tools.Judgement{}
	}
}

// hidden tells whether a path, or what it leads to by links, must not be touched in this call.
func (f folder) hidden(name string) bool {
	if f.granted {
		return false
	}
	if f.secrets.Match(name) {
		return true
	}
	top, err := filepath.EvalSymlinks(f.Name())
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(filepath.Join(top, name))
	if err != nil {
		return false // it is not there, or leads out, which the root refuses
	}
	relative, err := filepath.Rel(top, real)
	return err == nil && f.secrets.Match(filepath.ToSlash(relative))
}
