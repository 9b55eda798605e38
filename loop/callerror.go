package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/talaria-agent/talaria/tools"
)

const (
	maxProblems = 5   // named in one error
	excerptSize = 200 // bytes of what the model wrote, quoted back to it
)

// callError is the structured error that a model gets instead of a result: one a call, JSON.
type callError struct {
	Error      string          `json:"error"`
	Tool       string          `json:"tool,omitempty"`
	Problems   []tools.Problem `json:"problems,omitempty"`
	DidYouMean []string        `json:"did_you_mean,omitempty"`
	Available  []string        `json:"available_tools,omitempty"`
	Written    string          `json:"you_wrote,omitempty"`
	Advice     string          `json:"advice,omitempty"`
}

func (e callError) text() string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return e.Error
	}
	return strings.TrimSpace(out.String())
}

// unreadable returns the error for arguments that are not one JSON object, nil if they are.
func unreadable(tool, arguments string) *callError {
	if isObject(arguments) {
		return nil
	}
	e := &callError{
		Error: "the arguments are not a JSON object; the call did not run", Tool: tool,
		Written: prefix(strings.ToValidUTF8(arguments, "\uFFFD"), excerptSize),
		Advice:  "Call again with one complete JSON object.",
	}
	var v any
	if err := json.Unmarshal([]byte(arguments), &v); err != nil {
		e.Problems = []tools.Problem{{Problem: err.Error()}}
	}
	return e
}

func truncatedCall(tool string) *callError {
	return &callError{
		Error: "your reply was cut at the output limit, so none of its calls ran", Tool: tool,
		Advice: "Call again with shorter arguments, for example in several smaller steps.",
	}
}

func (s *toolset) unknownTool(name string) *callError {
	e := &callError{Error: "there is no such tool; the call did not run", Tool: prefix(name, excerptSize)}
	if s.registry != nil {
		e.Available = s.registry.Names()
		e.DidYouMean = near(name, e.Available)
	}
	return e
}

func deniedCall(tool, note string) *callError {
	return &callError{
		Error: "not allowed; the call did not run: " + strings.TrimSuffix(note, "."), Tool: tool,
		Advice: "Do not try the same in another way. Go on without it, or ask the person.",
	}
}

func budgetSpent(tool string) *callError {
	return &callError{Error: "no tool calls are left in this task; the call did not run", Tool: tool}
}

func timeIsUp(tool string) *callError {
	return &callError{Error: "the time for this task is up; the call did not run", Tool: tool}
}

func stillRunning(tool string) *callError {
	return &callError{
		Error: "an earlier call that was told to stop is still running; this one did not run", Tool: tool,
		Advice: "Only calls that change nothing are possible until it has ended.",
	}
}

func mayComplete(tool string) string {
	return callError{
		Error: "the call was told to stop and did not; its outcome is unknown and it may still complete", Tool: tool,
		Advice: "Check what it did before repeating it.",
	}.text()
}

func batchOver(tool string) *callError {
	return &callError{
		Error: "the calls of this reply before it took too long; this one did not run", Tool: tool,
		Advice: "Call it again if it is still needed, with fewer calls in one reply.",
	}
}

// givenUp is the error for arguments that were wrong once too often; e is the newest error.
func givenUp(e *callError, times int) *callError {
	return &callError{
		Error: fmt.Sprintf("wrong arguments %d times in a row (last error: %s)", times, e.Error), Tool: e.Tool,
		Problems: e.Problems, Written: e.Written, DidYouMean: e.DidYouMean,
		Advice: "Do not try this call again. Go on without it, and say in your answer what you could not do.",
	}
}

// unavailable is the error for a tool that failed too often.
func unavailable(tool, substitute string, times int) *callError {
	e := &callError{
		Error: "unavailable in this task", Tool: tool,
		Advice: fmt.Sprintf("It failed %d times in a row. Go on without it, and say in your answer what you could not do.", times),
	}
	if substitute != "" {
		e.Error += ", use " + substitute
		e.Advice = fmt.Sprintf("It failed %d times in a row. Use %s instead.", times, substitute)
	}
	return e
}

// explain names what is wrong with the arguments, as far as it can be said argument by argument.
func explain(schema *jsonschema.Schema, value map[string]any) []tools.Problem {
	var found []tools.Problem
	known := names(schema)
	missing := []string{}
	for _, name := range schema.Required {
		if _, ok := value[name]; !ok {
			missing = append(missing, name)
		}
	}
	for _, name := range sortedKeys(value) {
		sub, ok := schema.Properties[name]
		switch {
		case ok:
			if p := explainValue(name, sub, value[name]); p != nil {
				found = append(found, *p)
			}
		case schema.AdditionalProperties != nil:
			p := tools.Problem{Argument: name, Problem: "there is no such argument", Expected: "one of: " + strings.Join(known, ", ")}
			if similar := near(name, append(missing, known...)); len(similar) > 0 {
				p.Fix = fmt.Sprintf("call it %q", similar[0])
			}
			found = append(found, p)
		}
	}
	for _, name := range missing {
		found = append(found, tools.Problem{
			Argument: name, Problem: "it is missing", Expected: describe(schema.Properties[name]),
		})
	}
	return found[:min(len(found), maxProblems)]
}

// explainValue returns what is wrong with one argument, nil if nothing is.
func explainValue(name string, schema *jsonschema.Schema, value any) *tools.Problem {
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	if err = resolved.Validate(value); err == nil {
		return nil
	}
	p := &tools.Problem{Argument: name, Expected: describe(schema)}
	written := prefix(compact(value), excerptSize)
	_, isNumber := value.(float64)
	kind, wanted := kindOf(value), kinds(schema)
	fits := len(wanted) == 0 || slices.Contains(wanted, kind) || kind == "integer" && slices.Contains(wanted, "number")
	switch {
	case !fits:
		p.Problem = "it is of type " + kind
	case len(schema.Enum) > 0:
		p.Problem = written + " is not one of the possible values"
	case isNumber && (schema.Minimum != nil || schema.Maximum != nil):
		p.Problem = written + " is out of range"
	default:
		p.Problem = plainCause(err)
	}
	if fix := nearMiss(schema, value); fix != nil {
		p.Fix = "write " + compact(fix)
	}
	return p
}

// nearMiss returns the value that was probably meant, nil if there is none: a number or truth value written as text, a
// text written as a number, one value where a list is wanted, an enum value in other letters.
func nearMiss(schema *jsonschema.Schema, value any) any {
	var candidates []any
	switch v := value.(type) {
	case string:
		if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			candidates = append(candidates, n)
		}
		if b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(v))); err == nil {
			candidates = append(candidates, b)
		}
		var inner any
		if json.Unmarshal([]byte(v), &inner) == nil && inner != nil {
			candidates = append(candidates, inner)
		}
		candidates = append(candidates, nearEnum(schema, v)...)
	case float64, bool:
		candidates = append(candidates, compact(v))
	}
	candidates = append(candidates, []any{value})
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	for _, c := range candidates {
		if resolved.Validate(c) == nil {
			return c
		}
	}
	return nil
}

func nearEnum(schema *jsonschema.Schema, written string) []any {
	var words []string
	for _, e := range schema.Enum {
		if word, ok := e.(string); ok {
			words = append(words, word)
		}
	}
	var out []any
	for _, word := range near(written, words) {
		out = append(out, word)
	}
	return out
}

// describe says in a few words what a schema expects.
func describe(schema *jsonschema.Schema) string {
	if schema == nil {
		return ""
	}
	var parts []string
	if k := kinds(schema); len(k) > 0 {
		parts = append(parts, strings.Join(k, " or "))
	}
	if len(schema.Enum) > 0 {
		parts = append(parts, "one of "+compact(schema.Enum))
	}
	if schema.Minimum != nil {
		parts = append(parts, "at least "+compact(*schema.Minimum))
	}
	if schema.Maximum != nil {
		parts = append(parts, "at most "+compact(*schema.Maximum))
	}
	if schema.Description != "" {
		parts = append(parts, prefix(schema.Description, excerptSize))
	}
	return strings.Join(parts, "; ")
}

// kinds returns the types that a schema accepts, but for null, which stands only for a list that is left out.
func kinds(schema *jsonschema.Schema) []string {
	if schema.Type != "" {
		return []string{schema.Type}
	}
	return slices.DeleteFunc(slices.Clone(schema.Types), func(s string) bool { return s == "null" })
}

// kindOf returns the JSON type of a decoded value, integer for a whole number.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}
