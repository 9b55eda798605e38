package loop

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

func TestCut(t *testing.T) {
	for name, c := range map[string]struct {
		text              string
		head, tail, limit int
		wantHead          string
		wantTail          string
	}{
		"short":                 {"a\nb\nc", 2, 1, 100, "a\nb\nc", ""},
		"just fits":             {"a\nb\nc\n", 2, 1, 100, "a\nb\nc\n", ""},
		"one line too many":     {"a\nb\nc\nd", 2, 1, 100, "a\nb\n", "d"},
		"break at the end":      {"a\nb\nc\nd\n", 2, 1, 100, "a\nb\n", "d\n"},
		"no tail":               {"a\nb\nc", 2, 0, 100, "a\nb\n", ""},
		"no head":               {"a\nb\nc", 0, 1, 100, "", "c"},
		"one long line":         {strings.Repeat("x", 50) + "end", 2, 1, 9, "xxxxxx", "end"},
		"long lines at the cut": {"aaaaaaaa\nb\nc\ndddddddd", 1, 1, 9, "aaaaaa", "ddd"},
		"short head, long tail": {"a\nb\nc\ndddddddd", 1, 1, 9, "a\n", "ddd"},
		"characters stay whole": {strings.Repeat("字", 10), 2, 1, 10, "字字", "字"},
	} {
		t.Run(name, func(t *testing.T) {
			head, tail := cut(c.text, c.head, c.tail, c.limit)
			if head != c.wantHead || tail != c.wantTail {
				t.Errorf("%q and %q, want %q and %q", head, tail, c.wantHead, c.wantTail)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\nb\nc\nd", 1, 1, 3)
	f.Fuzz(func(t *testing.T, text string, headLines, tailLines, limit int) {
		if !utf8.ValidString(text) || headLines < 0 || tailLines < 0 || limit < 0 {
			t.Skip()
		}
		head, tail := cut(text, headLines, tailLines, limit)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head)+len(tail) > len(text) {
			t.Fatalf("%q and %q are not the ends of %q", head, tail, text)
		}
		if len(head)+len(tail) > max(limit, 0) || !utf8.ValidString(head) || !utf8.ValidString(tail) {
			t.Fatalf("%q and %q for a limit of %d", head, tail, limit)
		}
	})
}

func TestShapeWithoutAFolder(t *testing.T) {
	text := shape(tools.Result{Text: strings.Repeat("line\x00 \xff\n", 100)}, tools.Spec{}, tools.Scope{}, DefaultLimits())
	if !strings.Contains(text, "30 lines") || !strings.Contains(text, "could not be kept") || strings.Contains(text, "\x00") || !utf8.ValidString(text) {
		t.Errorf("%q", text)
	}
}

func TestNear(t *testing.T) {
	all := []string{"read_file", "write_file", "search_files", "terminal"}
	for name, want := range map[string][]string{
		"readfile": {"read_file"}, "Read-File": {"read_file"}, "raed_file": {"read_file"}, "files": {"search_files"},
		"terminal_run": {"terminal"}, "paint": nil, "": nil, "file": {"read_file", "write_file", "search_files"},
	} {
		if diff := cmp.Diff(want, near(name, all)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

func TestFingerprint(t *testing.T) {
	of := func(calls ...string) string {
		var all []sessions.ToolCall
		for i := 0; i < len(calls); i += 2 {
			all = append(all, sessions.ToolCall{ID: calls[i+1], Name: calls[i], Arguments: calls[i+1]})
		}
		return fingerprint(all)
	}
	same := of("a", `{"x":1,"y":[1,2]}`)
	if of("a", ` { "y" : [1, 2], "x" : 1 } `) != same {
		t.Error("white space and the order of keys matter")
	}
	for _, other := range []string{
		of("b", `{"x":1,"y":[1,2]}`), of("a", `{"x":1,"y":[2,1]}`), of("a", `{"x":12345678901234567890,"y":[1,2]}`),
		of("a", `{"x":1,"y":[1,2]}`, "a", `{"x":1,"y":[1,2]}`),
	} {
		if other == same {
			t.Error("different rounds are equal")
		}
	}
	if of("a", `{"x":12345678901234567890}`) == of("a", `{"x":12345678901234567891}`) {
		t.Error("large numbers are rounded")
	}
}

func TestValidationProblems(t *testing.T) {
	type nested struct {
		Mode  string   `json:"mode"`
		Limit int      `json:"limit,omitempty" jsonschema:"how many to return"`
		All   bool     `json:"all,omitempty"`
		Names []string `json:"names,omitempty"`
	}
	schema, err := jsonschema.For[nested](nil)
	if err != nil {
		t.Fatal(err)
	}
	most := 100.0
	schema.Properties["mode"].Enum = []any{"content", "files"}
	schema.Properties["limit"].Maximum = &most
	set := newToolset(Turn{}, nil)
	spec := tools.Spec{Name: "search", Schema: schema}
	for arguments, want := range map[string][4]string{
		`{"mode":"files","limit":"5"}`:  {"limit", "it is of type string", "integer; at most 100; how many to return", "write 5"},
		`{"mode":"files","limit":1.5}`:  {"limit", "it is of type number", "integer; at most 100; how many to return", ""},
		`{"mode":"files","limit":500}`:  {"limit", "500 is out of range", "integer; at most 100; how many to return", ""},
		`{"mode":"files","all":"True"}`: {"all", "it is of type string", "boolean", "write true"},
		`{"mode":"files","names":"a"}`:  {"names", "it is of type string", "array", `write ["a"]`},
		`{"mode":"Content"}`:            {"mode", `"Content" is not one of the possible values`, `string; one of ["content","files"]`, `write "content"`},
		`{"mode":"paint"}`:              {"mode", `"paint" is not one of the possible values`, `string; one of ["content","files"]`, ""},
		`{"mode":"files","limt":5}`:     {"limt", "there is no such argument", "one of: all, limit, mode, names", `call it "limit"`},
		`{}`:                            {"mode", "it is missing", `string; one of ["content","files"]`, ""},
	} {
		t.Run(arguments, func(t *testing.T) {
			got := set.validate(spec, json.RawMessage(arguments))
			if got == nil {
				t.Fatal("nothing is wrong")
			}
			if diff := cmp.Diff([]tools.Problem{{Argument: want[0], Problem: want[1], Expected: want[2], Fix: want[3]}}, got.Problems); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, valid := range []string{`{"mode":"files","limit":5,"names":["a"]}`, `{"mode":"files","limit":null,"names":null}`} {
		if e := set.validate(spec, json.RawMessage(valid)); e != nil {
			t.Errorf("%s: %s", valid, e.text())
		}
	}
}

func nothing[A any](context.Context, tools.Scope, A) (tools.Result, error) {
	return tools.Result{}, nil
}

func TestPromptAndDeclarationsAreByteStable(t *testing.T) {
	type input struct {
		B string `json:"b" jsonschema:"of b"`
		A int    `json:"a,omitempty"`
	}
	declare := func() string {
		made, err := tools.New(tools.Spec{Name: "one", Description: "does <one> & more"}, nothing[input])
		if err != nil {
			t.Fatal(err)
		}
		reg, err := tools.NewRegistry(made)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := Declare(reg)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const want = `[{"name":"one","description":"does <one> & more","schema":{"type":"object",` +
		`"properties":{"b":{"type":"string","description":"of b"},"a":{"type":"integer"}},"required":["b"],"additionalProperties":false}}]`
	for range 20 {
		if got := declare(); got != want {
			t.Fatalf("declarations: %s", got)
		}
	}
	zone := time.FixedZone("CET", 3600)
	layers := PromptLayers{
		Identity: "You are T.", WithTools: true, Memory: "Tea.", Profile: "Likes it.", Skills: "- brew: How.", ContextFile: ContextFile{Name: "AGENTS.md", Text: "Be kind.\n"},
		Started: time.Date(2026, 5, 4, 3, 2, 1, 0, zone), Platform: "Telegram",
	}
	got := BuildPrompt(layers)
	at := -1
	for _, part := range []string{"You are T.", "# Tools", "Tea.", "Likes it.", "# Skills", "- brew: How.", "AGENTS.md\n\nBe kind.\n\n", "Monday, 4 May 2026, 03:02 +01:00 (zone CET)", "Telegram"} {
		i := strings.Index(got, part)
		if i <= at {
			t.Errorf("%q is missing or not in its place in %q", part, got)
		}
		at = i
	}
	if got != BuildPrompt(layers) || BuildPrompt(PromptLayers{}) != DefaultIdentity {
		t.Error("the prompt is not a function of its layers")
	}
}
