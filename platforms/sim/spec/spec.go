// Package spec checks requests against the official description of a platform's API, so that a simulator does not
// merely prove what its author believes. A Description is an extract, kept as JSON in testdata, of the machine-readable
// descriptions that the platforms (or people close to them) publish. It is loaded by tests only.
package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Description is the extract of one platform: its methods by name.
type Description struct {
	Source  string            `json:"source"` // where it comes from, its version and licence
	Methods map[string]Method `json:"methods"`
}

// Method describes the request of one method.
type Method struct {
	Fields map[string]Field `json:"fields"`
}

// Field describes one field of a request. Types are JSON's: "string", "integer", "number", "boolean", "array",
// "object"; none = anything.
type Field struct {
	Types    []string         `json:"types,omitempty"`
	Required bool             `json:"required,omitempty"`
	Max      int              `json:"max,omitempty"`    // longest string in code points, or largest array
	Fields   map[string]Field `json:"fields,omitempty"` // of an object, or of an array's items, where described
}

// Newer lists what is newer than the description: field paths ("sendMessage.reply_parameters") or whole methods
// ("sendRichMessage"), each with the source that vouches for it.
type Newer map[string]string

// Load reads a description.
func Load(data []byte) (Description, error) {
	var d Description
	if err := json.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("read API description: %w", err)
	}
	return d, nil
}

// Check returns what is wrong with a request, one line each: an unknown method or field, a missing required field, a
// value of the wrong type. Values are as encoding/json decodes them; with form true, strings stand for every type, as
// in a form-encoded body.
func (d Description) Check(method string, request map[string]any, form bool, newer Newer) []string {
	m, ok := d.Methods[method]
	if !ok {
		if _, ok := newer[method]; ok {
			return nil
		}
		return []string{"unknown method " + method}
	}
	problems := checkFields(method, m.Fields, request, form, newer)
	slices.Sort(problems)
	return problems
}

func checkFields(path string, fields map[string]Field, values map[string]any, form bool, newer Newer) []string {
	var problems []string
	for name, value := range values {
		at := path + "." + name
		f, ok := fields[name]
		if !ok {
			if _, ok := newer[at]; !ok {
				problems = append(problems, "unknown field "+at)
			}
			continue
		}
		problems = append(problems, f.check(at, value, form, newer)...)
	}
	for name, f := range fields {
		if _, ok := values[name]; f.Required && !ok {
			problems = append(problems, "missing field "+path+"."+name)
		}
	}
	return problems
}

func (f Field) check(at string, value any, form bool, newer Newer) []string {
	if s, ok := value.(string); ok && form {
		if decoded, ok := f.decodeForm(s); ok {
			value = decoded
		}
	}
	if len(f.Types) > 0 && !slices.ContainsFunc(f.Types, func(t string) bool { return hasType(value, t) }) {
		return []string{fmt.Sprintf("%s is %T, want %s", at, value, strings.Join(f.Types, " or "))}
	}
	if s, ok := value.(string); ok && f.Max > 0 && len([]rune(s)) > f.Max {
		return []string{fmt.Sprintf("%s is longer than %d", at, f.Max)}
	}
	var problems []string
	switch v := value.(type) {
	case map[string]any:
		if f.Fields != nil {
			problems = checkFields(at, f.Fields, v, false, newer)
		}
	case []any:
		if f.Max > 0 && len(v) > f.Max {
			problems = append(problems, fmt.Sprintf("%s has more than %d items", at, f.Max))
		}
		for _, item := range v {
			switch item := item.(type) {
			case map[string]any:
				if f.Fields != nil {
					problems = append(problems, checkFields(at, f.Fields, item, false, newer)...)
				}
			case []any: // the rows of a keyboard
				problems = append(problems, Field{Fields: f.Fields}.check(at, item, false, newer)...)
			}
		}
	}
	return problems
}

// decodeForm decodes a form value as JSON where the description wants something else than a string.
func (f Field) decodeForm(s string) (any, bool) {
	if len(f.Types) == 0 || slices.Contains(f.Types, "string") {
		return nil, false
	}
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return nil, false
	}
	return v, true
}

func hasType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || (name == "integer" && v == float64(int64(v)))
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	default:
		return false
	}
}
