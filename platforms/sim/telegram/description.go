package telegram

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

// ReadDescription reads the description of the Bot API that PaulSonOfLars/telegram-bot-api-spec derives from
// core.telegram.org (its api.json) into the form that Server.CheckAgainst takes. It is not kept in this repository,
// because nothing there says that it may be passed on.
func ReadDescription(data []byte) (spec.Description, error) {
	var api apiDescription
	if err := json.Unmarshal(data, &api); err != nil {
		return spec.Description{}, fmt.Errorf("read the Bot API description: %w", err)
	}
	d := spec.Description{
		Source:  api.Version + ", PaulSonOfLars/telegram-bot-api-spec",
		Methods: make(map[string]spec.Method, len(api.Methods)),
	}
	for name, m := range api.Methods {
		d.Methods[name] = spec.Method{Fields: api.fields(m.Fields, nil)}
	}
	return d, nil
}

type apiDescription struct {
	Version string             `json:"version"`
	Methods map[string]apiType `json:"methods"`
	Types   map[string]apiType `json:"types"`
}

type apiType struct {
	Fields   []apiField `json:"fields"`
	Subtypes []string   `json:"subtypes"`
}

type apiField struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`
	Required bool     `json:"required"`
}

// fields converts a list of fields. Inside names the types that are being converted: some contain themselves, and are
// not described a second time.
func (d apiDescription) fields(list []apiField, inside []string) map[string]spec.Field {
	fields := make(map[string]spec.Field, len(list))
	for _, f := range list {
		field := spec.Field{Required: f.Required}
		for _, name := range f.Types {
			field.Types = append(field.Types, jsonType(name))
			if nested := d.object(strings.ReplaceAll(name, "Array of ", ""), inside); nested != nil {
				field.Fields = merge(field.Fields, nested)
			}
		}
		fields[f.Name] = field
	}
	return fields
}

// object returns the fields of an object type, of all its variants together if it has some, and nil for other types.
func (d apiDescription) object(name string, inside []string) map[string]spec.Field {
	t, ok := d.Types[name]
	for _, outer := range inside {
		ok = ok && outer != name
	}
	if !ok {
		return nil
	}
	inside = append(inside[:len(inside):len(inside)], name)
	fields := d.fields(t.Fields, inside)
	for _, variant := range t.Subtypes {
		fields = merge(fields, d.object(variant, inside))
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// merge joins the fields of variants: what is not required in all of them is not required.
func merge(a, b map[string]spec.Field) map[string]spec.Field {
	if len(a) == 0 {
		return b
	}
	joined := make(map[string]spec.Field, len(a)+len(b))
	for name, f := range a {
		_, both := b[name]
		f.Required = f.Required && both
		joined[name] = f
	}
	for name, f := range b {
		if _, both := a[name]; !both {
			f.Required = false
			joined[name] = f
		}
	}
	return joined
}

func jsonType(name string) string {
	switch name {
	case "Integer":
		return "integer"
	case "String":
		return "string"
	case "Boolean", "True":
		return "boolean"
	case "Float":
		return "number"
	}
	if strings.HasPrefix(name, "Array of ") {
		return "array"
	}
	return "object"
}
