package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// toolset is the tools of a turn with their schemas made ready. It belongs to the turn's goroutine.
type toolset struct {
	registry *tools.Registry
	policy   tools.Policy
	scope    tools.Scope
	tape     Tape
	lane     string
	schemas  map[string]*jsonschema.Resolved
}

func newToolset(work Turn, policy tools.Policy) *toolset {
	return &toolset{
		registry: work.Tools, policy: policy, scope: work.Scope, tape: work.Tape, lane: work.lane,
		schemas: map[string]*jsonschema.Resolved{},
	}
}

// prepared is a call about which everything is known that can be known without running it.
type prepared struct {
	call    sessions.ToolCall
	tool    tools.Tool
	spec    tools.Spec
	paths   []string
	preview string
	effects bool // it may change something
	judged  tools.Judgement

	outcome sessions.Outcome // set if it must not run
	refusal *callError       // then, what the model gets to read
	answer  string           // or this, whatever happens; empty = nothing is to be said yet
	fault   fault            // and what it counts as
}

// fault says what went wrong with a call, and at which stage of it. The zero value is none.
type fault struct {
	class tools.Failure
	stage stage
}

// stage is where in its life a call failed.
type stage string

const (
	atCall      stage = "call"       // it was asked for, and must not run
	atParse     stage = "parse"      // its arguments were read
	atExecution stage = "execution"  //
	atWriteBack stage = "write-back" // its result went into the log
)

func (p *prepared) refuse(outcome sessions.Outcome, f fault, e *callError) {
	if p.outcome == "" {
		p.outcome, p.fault, p.refusal = outcome, f, e
	}
}

// asks tells whether a person is to be asked before the call begins.
func (p prepared) asks() bool { return p.outcome == "" && p.judged.Verdict == tools.AskFirst }

// beside tells whether two calls of one reply may run at the same time. A call that will not run is in nobody's way,
// and one that a person is asked about runs alone, so that questions come one by one and in order.
func (p prepared) beside(q prepared) bool {
	switch {
	case p.outcome != "" || q.outcome != "":
		return true
	case !p.spec.Parallel || !q.spec.Parallel:
		return false
	case p.asks() || q.asks():
		return false
	case !p.effects && !q.effects:
		return true
	}
	for _, a := range p.paths {
		for _, b := range q.paths {
			if overlap(a, b) {
				return false
			}
		}
	}
	return true
}

// overlap tells whether two paths are the same, or one contains the other.
func overlap(a, b string) bool {
	a, b = path.Clean("/"+a), path.Clean("/"+b)
	return a == b || strings.HasPrefix(a, strings.TrimSuffix(b, "/")+"/") ||
		strings.HasPrefix(b, strings.TrimSuffix(a, "/")+"/")
}

// prepare checks a call in its order of steps: can it be read, is there such a tool, do the arguments match the
// schema, do they mean something that is possible, does the policy allow it. What a tool's own functions do wrong becomes the call's result.
func (s *toolset) prepare(c requested) (p prepared) {
	p = prepared{call: c.ToolCall}
	defer func() {
		if r := recover(); r != nil {
			p.refuse(sessions.OutcomeFailed, fault{tools.FailTool, atParse}, &callError{
				Error: fmt.Sprintf("the tool crashed while its arguments were looked at: %v", r), Tool: c.Name,
			})
		}
	}()
	if c.refusal != nil {
		p.refuse(sessions.OutcomeRefused, fault{tools.FailArguments, atParse}, c.refusal)
		return p
	}
	tool, ok := s.lookup(c.Name)
	if !ok {
		p.refuse(sessions.OutcomeRefused, fault{tools.FailArguments, atCall}, s.unknownTool(c.Name))
		return p
	}
	p.tool, p.spec = tool, tool.Spec()
	p.effects = p.spec.Risk != tools.ReadOnly
	arguments := json.RawMessage(c.Arguments)
	if e := s.validate(p.spec, arguments); e != nil {
		p.refuse(sessions.OutcomeRefused, fault{tools.FailArguments, atParse}, e)
		return p
	}
	look := s.tape.Look(s.lane, c.ToolCall, func() Look { return s.look(p.spec, arguments) })
	if n := len(look.Problems); n > 0 {
		p.refuse(sessions.OutcomeRefused, fault{tools.FailArguments, atParse}, &callError{
			Error: wrongArguments, Tool: c.Name, Problems: look.Problems[:min(n, maxProblems)],
		})
		return p
	}
	p.preview, p.paths, p.judged = look.Preview, look.Paths, look.Judged
	if p.judged.Verdict == tools.DenyAlways {
		p.refuse(sessions.OutcomeDenied, fault{tools.FailPermission, atCall}, deniedCall(c.Name, p.judged.Reason))
	}
	return p
}

// look asks the tool's own functions and the policy about a call.
func (s *toolset) look(spec tools.Spec, arguments json.RawMessage) (l Look) {
	if spec.Check != nil {
		if l.Problems = spec.Check(arguments); len(l.Problems) > 0 {
			return l
		}
	}
	l.Preview = string(arguments)
	if spec.Preview != nil {
		l.Preview = spec.Preview(arguments)
	}
	if spec.Paths != nil {
		l.Paths = spec.Paths(arguments)
	}
	l.Judged = tools.Judgement{Verdict: tools.Allow}
	if s.policy != nil {
		l.Judged = s.policy.Judge(s.scope, spec, arguments)
	}
	return l
}

func (s *toolset) lookup(name string) (tools.Tool, bool) {
	if s.registry == nil {
		return nil, false
	}
	return s.registry.Lookup(name)
}

// substitute names the tool that a broken one says to use instead, if there is such a tool here.
func (s *toolset) substitute(spec tools.Spec) string {
	if _, ok := s.lookup(spec.Substitute); !ok {
		return ""
	}
	return spec.Substitute
}

const wrongArguments = "invalid arguments; the call did not run"

// validate checks arguments against a tool's schema, and returns the structured error for the model, nil if nothing is
// wrong.
func (s *toolset) validate(spec tools.Spec, arguments json.RawMessage) *callError {
	e := &callError{Error: wrongArguments, Tool: spec.Name}
	resolved, err := s.resolve(spec)
	if err != nil {
		return &callError{Error: "the tool is declared wrongly and cannot be called", Tool: spec.Name}
	}
	if resolved != nil {
		var value map[string]any
		if err := json.Unmarshal(arguments, &value); err != nil {
			return unreadable(spec.Name, string(arguments))
		}
		for name, v := range value { // many models write null for an argument that they leave out
			if v == nil && spec.Schema.Properties[name] != nil && !slices.Contains(spec.Schema.Required, name) {
				delete(value, name)
			}
		}
		if err := resolved.Validate(value); err != nil {
			if e.Problems = explain(spec.Schema, value); len(e.Problems) == 0 {
				e.Problems = []tools.Problem{{Problem: plainCause(err)}}
			}
			return e
		}
	}
	return nil
}

func (s *toolset) resolve(spec tools.Spec) (*jsonschema.Resolved, error) {
	if spec.Schema == nil {
		return nil, nil
	}
	if r, ok := s.schemas[spec.Name]; ok {
		return r, nil
	}
	r, err := spec.Schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema of tool %s: %w", spec.Name, err)
	}
	s.schemas[spec.Name] = r
	return r, nil
}

// plainCause returns the innermost message of a validation error, without the path through the schema.
func plainCause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		if _, after, ok := strings.Cut(text[i:], ": "); ok {
			text = after
		}
	}
	return prefix(text, 300)
}

// Declare returns the declarations of all tools as they go into sessions.PromptBuilt and Request.Tools: a JSON array of
// {"name", "description", "schema"} in registry order, byte for byte the same for the same registry.
func Declare(registry *tools.Registry) (json.RawMessage, error) {
	type declaration struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	all := []declaration{}
	for _, t := range registry.Tools() {
		spec := t.Spec()
		all = append(all, declaration{spec.Name, spec.Description, spec.Schema})
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("declare tools: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// names returns the argument names of a schema, sorted.
func names(schema *jsonschema.Schema) []string {
	return slices.Sorted(maps.Keys(schema.Properties))
}
