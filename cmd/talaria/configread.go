package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// decodeConfig decodes a TOML text strictly into a config that holds the defaults. It returns every key that does not exist
// and every value of a wrong type, each with file, line and key; what such a key stands for keeps its default. A text that
// is no TOML at all is an error.
func decodeConfig(path, text string, cfg *Config) (problems []string, err error) {
	var raw map[string]any
	_, err = toml.Decode(text, &raw)
	if parse := (toml.ParseError{}); errors.As(err, &parse) {
		return nil, fmt.Errorf("%s:%d: %s", path, parse.Position.Line, describeParse(parse))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	add := func(key, problem string) {
		problems = append(problems, fmt.Sprintf("%s:%d: %s", path, lineOf(text, key), problem))
	}
	for _, w := range takeWrong(raw, reflect.TypeFor[Config](), "") {
		add(w.key, fmt.Sprintf("key %q: %s", w.key, w.what))
	}
	if len(problems) > 0 {
		rest, err := toml.Marshal(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		meta, err := toml.Decode(string(rest), cfg)
		return append(problems, unknownKeys(path, text, meta)...), err
	}
	meta, err := toml.Decode(text, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return unknownKeys(path, text, meta), nil
}

func unknownKeys(path, text string, meta toml.MetaData) (problems []string) {
	for _, key := range meta.Undecoded() {
		problem := fmt.Sprintf("%s:%d: unknown key %q", path, lineOf(text, key.String()), key.String())
		if near := nearestKey(key.String()); near != "" {
			problem += fmt.Sprintf("; did you mean %q?", near)
		}
		problems = append(problems, problem)
	}
	return problems
}

// wrongValue is a value that its key cannot have.
type wrongValue struct{ key, what string }

// takeWrong takes the values that do not fit the fields of a struct out of a table and says what is wrong with each. The
// library stops at the first one.
func takeWrong(table map[string]any, t reflect.Type, prefix string) (all []wrongValue) {
	for f := range t.Fields() {
		name := f.Tag.Get("toml")
		value, set := table[name]
		if name == "-" || !set {
			continue
		}
		key := prefix + name
		switch inner := f.Type; {
		case inner.Kind() == reflect.Struct:
			if sub, ok := value.(map[string]any); ok {
				all = append(all, takeWrong(sub, inner, key+".")...)
				continue
			}
			all = append(all, wrongValue{key, fmt.Sprintf("it is a table, written as [%s]", key)})
			delete(table, name)
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			subs, ok := value.([]map[string]any)
			if !ok {
				all = append(all, wrongValue{key, fmt.Sprintf("it is a list of tables, each written as [[%s]]", key)})
				delete(table, name)
			}
			for i, sub := range subs {
				all = append(all, takeWrong(sub, inner.Elem(), fmt.Sprintf("%s[%d].", key, i))...)
			}
		default:
			if what := unfit(value, inner); what != "" {
				all = append(all, wrongValue{key, what})
				delete(table, name)
			}
		}
	}
	return all
}

// typeError takes the library's report of a wrong type apart.
var typeError = regexp.MustCompile(`^toml: (?:line \d+ )?\(last key ".*?"\): (.*)$`)

// unfit says why a value cannot be of a type, empty if it can.
func unfit(value any, t reflect.Type) string {
	if text, ok := value.(string); ok && t == reflect.TypeFor[time.Duration]() {
		if _, err := time.ParseDuration(text); err != nil {
			return fmt.Sprintf("%q is not a duration like \"1.5s\", \"30m\" or \"24h\"", text)
		}
		return ""
	}
	text, err := toml.Marshal(map[string]any{"value": value})
	if err != nil {
		return err.Error()
	}
	into := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Value", Type: t, Tag: `toml:"value"`}}))
	_, err = toml.Decode(string(text), into.Interface())
	if parse := (toml.ParseError{}); errors.As(err, &parse) {
		return parse.Message
	}
	if m := typeError.FindStringSubmatch(fmt.Sprint(err)); m != nil {
		return m[1]
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// describeParse says what is wrong with a TOML text, without the library's own position prefix.
func describeParse(e toml.ParseError) string {
	text := e.Message
	if e.LastKey != "" {
		text = fmt.Sprintf("key %q: %s", e.LastKey, text)
	}
	return text
}

// locate puts file and line in front of a problem, if its key stands in the file.
func locate(path, text, problem string) string {
	key, _, _ := strings.Cut(problem, ": ")
	if path == "" || strings.HasPrefix(key, "TALARIA_") {
		return problem
	}
	if line := lineOf(text, key); line > 0 {
		return fmt.Sprintf("%s:%d: %s", path, line, problem)
	}
	return path + ": " + problem
}

var (
	tableLine = regexp.MustCompile(`^\s*(\[+)\s*([^\]]+?)\s*\]+`)
	elements  = regexp.MustCompile(`\[\d+\]`)
)

// lineOf finds the line of a key ("hooks[1].timeout") in a TOML text, or else of the table or list that it belongs to; 0 if
// neither stands there. Without a number it is the first element of a list. The TOML library does not tell.
func lineOf(text, key string) int {
	table, seen := "", map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		if m := tableLine.FindStringSubmatch(line); m != nil {
			if table = m[2]; m[1] == "[[" {
				table = fmt.Sprintf("%s[%d]", m[2], seen[m[2]])
				seen[m[2]]++
			}
			if isKey(table, key) {
				return i + 1
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		full := strings.Trim(strings.TrimSpace(name), `"'`)
		if table != "" {
			full = table + "." + full
		}
		if isKey(full, key) {
			return i + 1
		}
	}
	if short, ok := strings.CutSuffix(key, elements.FindString(key)); ok && short != key {
		return lineOf(text, short)
	}
	if i := strings.LastIndexByte(key, '.'); i > 0 && strings.Contains(key[:i], "[") {
		return lineOf(text, key[:i])
	}
	return 0
}

// isKey tells whether a key of the text is the one that is looked for.
func isKey(full, key string) bool {
	return full == key || !strings.Contains(key, "[") && elements.ReplaceAllString(full, "") == key
}
