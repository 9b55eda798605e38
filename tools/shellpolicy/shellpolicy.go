// Package shellpolicy judges a shell command before it runs: may it run at once, must a person be asked, or must it never
// run. It looks at the parsed command, at every simple command in it wherever it stands: in pipelines, lists, subshells,
// substitutions, functions, here-documents, and behind programs that start others (env, xargs, find -exec, sh -c).
//
// It is pure: it starts no goroutine, reads no file and no environment, and gives the same answer for the same input.
// It errs on the side of asking: what is not known to be harmless, and every word whose value it cannot tell, is asked
// about. It never promises that a command is harmless: a symbolic link may lead elsewhere, and a program may do what its
// name does not say. Keeping a command in its place is the sandbox's work.
package shellpolicy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/talaria-agent/talaria/tools"
)

// Class is a kind of trouble that a command can make.
type Class string

const (
	Destructive Class = "destructive"       // loses work that cannot be brought back
	Outside     Class = "outside workspace" // touches files that are not the conversation's
	Network     Class = "network"           // talks to other machines
	Privilege   Class = "privilege"         // gains or hands out rights
	Secrets     Class = "secrets"           // reads credentials
	System      Class = "system"            // changes the machine: devices, services, processes
	Self        Class = "self"              // touches the gateway's own process or data
	Code        Class = "code"              // runs a program that cannot be looked into
	Unclear     Class = "unclear"           // cannot be told from the text of the command
)

// Finding is one thing about a command that a person should know.
type Finding struct {
	Class Class
	Never bool   // no permission lifts it
	Text  string // a readable sentence
}

// Judgement is what is to be known about a command.
type Judgement struct {
	Verdict  tools.Verdict
	Findings []Finding
	Programs []string // every program and builtin that it may start, as it is written, in the order met
	Writes   []string // absolute paths of the files that it names for writing
	// Opaque tells that it hands a text to an interpreter or takes values that are known only when it runs, so that equal
	// text may do something else the next time.
	Opaque bool
}

// Has tells whether there is a finding of a class.
func (j Judgement) Has(c Class) bool {
	return slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Class == c })
}

// Reason says in a few sentences why a command is not simply run; empty if it is.
func (j Judgement) Reason() string {
	const most = 4
	var all []string
	for _, f := range j.Findings {
		if j.Verdict == tools.DenyAlways && !f.Never {
			continue
		}
		if len(all) == most {
			all = append(all, "And more.")
			break
		}
		all = append(all, f.Text)
	}
	return strings.Join(all, " ")
}

// Rules say what a command may do and where it stands. All paths are absolute and clean.
type Rules struct {
	Work string   // the folder that it may change; also its HOME
	Dir  string   // the folder that it starts in, inside of Work; empty = Work
	Own  []string // the gateway's own files and folders: its data, its config
	Home string   // the home folder of the gateway's user
	PID  int      // of the gateway
	Deny []string // globs of commands that never run: "*" is any text, "?" any character

	Contained bool // a sandbox keeps it from writing outside of Work, from Own and from the network
	Network   bool // it may use the network unasked
}

const (
	maxCommand = 64 << 10 // longer ones never run: what never runs could stand anywhere in them
	maxDepth   = 8        // of commands in the arguments of commands
)

// Judge judges a command for bash.
func Judge(command string, rules Rules) Judgement {
	if rules.Dir == "" {
		rules.Dir = rules.Work
	}
	a := &analysis{rules: rules}
	if matchesAny(rules.Deny, command) {
		a.never(Unclear, "The operator has forbidden such commands.")
	}
	a.script(command, syntax.LangBash, 0, false)
	return a.judgement()
}

// analysis gathers what is found out about one command.
type analysis struct {
	rules    Rules
	findings []Finding
	programs []string
	writes   []string
	opaque   bool
}

func (a *analysis) judgement() Judgement {
	j := Judgement{Verdict: tools.Allow, Findings: a.findings, Programs: a.programs, Writes: a.writes, Opaque: a.opaque}
	for _, f := range a.findings {
		if f.Never {
			j.Verdict = tools.DenyAlways
		} else if j.Verdict == tools.Allow {
			j.Verdict = tools.AskFirst
		}
	}
	return j
}

func (a *analysis) find(f Finding) {
	if !slices.Contains(a.findings, f) {
		a.findings = append(a.findings, f)
	}
}

// ask adds a finding for a person to decide on.
func (a *analysis) ask(c Class, format string, args ...any) {
	if c == Unclear || c == Code {
		a.opaque = true
	}
	if c == Code && a.rules.Contained || c == Network && a.rules.Network {
		return
	}
	a.find(Finding{Class: c, Text: fmt.Sprintf(format, args...)})
}

// never adds a finding that nothing lifts.
func (a *analysis) never(c Class, format string, args ...any) {
	a.find(Finding{Class: c, Never: true, Text: fmt.Sprintf(format, args...)})
}

// script looks at a text that a shell would run. Nested tells that it runs in a shell of its own, which may inherit
// variables.
func (a *analysis) script(text string, lang syntax.LangVariant, depth int, nested bool) {
	switch {
	case len(text) > maxCommand:
		a.never(Unclear, "It is too long to be looked into; what is long belongs in a file.")
		return
	case depth > maxDepth:
		a.never(Unclear, "It hides commands in commands too deeply to be looked into.")
		return
	case strings.ContainsRune(text, '\r'):
		a.ask(Unclear, "It has carriage returns in it, which hide what it says.")
	case longComment.MatchString(text):
		a.ask(Unclear, "It has a comment that may or may not end with its line.")
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		a.ask(Unclear, "It is not clear how a shell would read it.")
		// A shell runs line by line until the line that it cannot read, so what was read counts.
	}
	if file == nil {
		return
	}
	s := &scope{analysis: a, depth: depth, vars: newVariables(file, a.rules, nested), functions: map[string]bool{}}
	s.look(file)
}

// longComment finds a line with a comment that ends with a backslash: to bash the comment ends there, to the parser it goes
// on with the next line.
var longComment = regexp.MustCompile(`#[^\n]*\\\n`)

// quote shortens a text for a sentence.
func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:59]) + "…"
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}
