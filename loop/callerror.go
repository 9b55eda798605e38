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
)

const (
	maxProblems = 5   // named in one error
	excerptSize = 200 // bytes of what the model wrote, quoted back to it
)

// callError is the structured error that a model gets instead of a result: one a call, JSON.
type callError struct {
	Error      string    `json:"error"`
	Tool       string    `json:"tool,omitempty"`
	Problems   []problem `json:"problems,omitempty"`
	DidYouMean []string  `json:"did_you_mean,omitempty"`
	Available  []string  `json:"available_tools,omitempty"`
	Written    string    `json:"you_wrote,omitempty"`
	Advice     string    `json:"advice,omitempty"`
}

// problem is what is wrong with one argument.
type problem struct {
	Argument string `json:"argument,omitempty"`
	Problem  string `json:"problem"`
	Expected string `json:"expected,omitempty"`
	Fix      string `json:"fix,omitempty"` // for a near miss
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

// unreadable returns the error for arguments that are not one JSON object, empty if they are.
func unreadable(tool, arguments string) string {
	if isObject(arguments) {
		return ""
	}
	e := callError{
		Error: "the arguments are not a JSON object; the call did not run", Tool: tool,
		Written: prefix(strings.ToValidUTF8(arguments, "\uFFFD"), excerptSize),
		Advice:  "Call again with one complete JSON object.",
	}
	var v any
	if err := json.Unmarshal([]byte(arguments), &v); err != nil {
		e.Problems = []problem{{Problem: err.Error()}}
	}
	return e.text()
}

func truncatedCall(tool string) string {
	return callError{
		Error: "your reply was cut at the output limit, so none of its calls ran", Tool: tool,
		Advice: "Call again with shorter arguments, for example in several smaller steps.",
	}.text()
}

func (s *toolset) unknownTool(name string) string {
	e := callError{Error: "there is no such tool; the call did not run", Tool: prefix(name, excerptSize)}
	if s.registry != nil {
		e.Available = s.registry.Names()
		e.DidYouMean = near(name, e.Available)
	}
	return e.text()
}

func deniedCall(tool, note string) string {
	return callError{
		Error: "not allowed; the call did not run: " + strings.TrimSuffix(note, "."), Tool: tool,
		Advice: "Do not try the same in another way. Go on without it, or ask the person.",
	}.text()
}

func budgetSpent(tool string) string {
	return callError{Error: "no tool calls are left in this task; the call did not run", Tool: tool}.text()
}

func timeIsUp(tool string) string {
	return callError{Error: "the time for this task is up; the call did not run", Tool: tool}.text()
}

func stillRunning(tool string) string {
	return callError{
		Error: "an earlier call that was told to stop is still running; this one did not run", Tool: tool,
		Advice: "Only calls that change nothing are possible until it has ended.",
	}.text()
}

func mayComplete(tool string) string {
	return callError{
		Error: "the call was told to stop and did not; its outcome is unknown and it may still complete", Tool: tool,
		Advice: "Check what it did before repeating it.",
	}.text()
}

// explain names what is wrong with the arguments, as far as it can be said argument by argument.
func explain(schema *jsonschema.Schema, value map[string]any) []problem {
	var found []problem
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
			p := problem{Argument: name, Problem: "there is no such argument", Expected: "one of: " + strings.Join(known, ", ")}
			if similar := near(name, append(missing, known...)); len(similar) > 0 {
				p.Fix = fmt.Sprintf("call it %q", similar[0])
			}
			found = append(found, p)
		}
	}
	for _, name := range missing {
		found = append(found, problem{
			Argument: name, Problem: "it is missing", Expected: describe(schema.Properties[name]),
		})
	}
	return found[:min(len(found), maxProblems)]
}

// explainValue returns what is wrong with one argument, nil if nothing is.
func explainValue(name string, schema *jsonschema.Schema, value any) *problem {
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	if err = resolved.Validate(value); err == nil {
		return nil
	}
	p := &problem{Argument: name, Expected: describe(schema)}
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
