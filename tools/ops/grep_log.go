package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// Limits of a search.
const (
	defaultLines  = 60
	maxLines      = 500
	maxOffset     = 2000
	maxContext    = 20
	maxExpression = 1000
)

type grepArguments struct {
	Pattern string   `json:"pattern,omitempty" jsonschema:"regular expression that a line must match; default: every line"`
	Files   []string `json:"files,omitempty" jsonschema:"paths or names of logs, * is any text; default: all allowed logs"`
	Unit    string   `json:"unit,omitempty" jsonschema:"systemd unit whose journal is searched instead of files"`
	Since   string   `json:"since,omitempty" jsonschema:"RFC 3339, or how long ago: 2h"`
	Until   string   `json:"until,omitempty" jsonschema:"RFC 3339, or how long ago: 30m"`
	Level   string   `json:"level,omitempty" jsonschema:"lowest level to show"`
	Count   bool     `json:"count,omitempty" jsonschema:"true = count messages by what they say"`
	Newest  bool     `json:"newest,omitempty" jsonschema:"true = the last matches, not the first"`
	Context int      `json:"context,omitempty" jsonschema:"lines around each match, at most 20"`
	Limit   int      `json:"limit,omitempty" jsonschema:"matches to show; default 60, at most 500"`
	Offset  int      `json:"offset,omitempty" jsonschema:"matches to skip"`
}

// grep is the tool.
type grep struct {
	logs    logs
	journal journal
	secret  func(string) bool
	zone    *time.Location
}

func newGrep(o Options) (tools.Tool, error) {
	allowed, err := parseLogs(o.Logs)
	if err != nil {
		return nil, err
	}
	g := &grep{logs: allowed, journal: journal{o.Journalctl, o.Units}, secret: o.Secret, zone: o.Zone}
	if len(g.logs) == 0 && !g.journal.there() {
		return nil, nil
	}
	tool, err := tools.New(tools.Spec{
		Name: "grep_log", Toolset: toolset, Description: g.describe(),
		Risk: tools.ReadOnly, Parallel: true, Ranged: true, Untrusted: true,
		Check: g.check, Preview: previewGrep,
	}, g.call)
	if err != nil {
		return nil, err
	}
	properties := tool.Spec().Schema.Properties
	for _, l := range levels[1:] {
		properties["level"].Enum = append(properties["level"].Enum, l)
	}
	bound(tool, "context", 0, maxContext)
	bound(tool, "limit", 1, maxLines)
	bound(tool, "offset", 0, maxOffset)
	if !g.journal.there() {
		delete(properties, "unit")
	}
	return tool, nil
}

// describe tells the model what it may look at.
func (g *grep) describe() string {
	text := grepDescription
	if len(g.logs) > 0 {
		text += "\nAllowed logs: " + g.logs.String()
	}
	if g.journal.there() {
		text += "\nAllowed units: " + strings.Join(g.journal.units, ", ")
	}
	return text
}

func previewGrep(arguments json.RawMessage) string {
	var a grepArguments
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	return strings.TrimSpace(strings.Join([]string{a.Level, a.Pattern, cmp.Or(a.Unit, strings.Join(a.Files, " "))}, " "))
}

func (g *grep) check(arguments json.RawMessage) []tools.Problem {
	var a grepArguments
	if err := json.Unmarshal(arguments, &a); err != nil {
		return []tools.Problem{{Problem: err.Error()}}
	}
	problems := checkWindow(a.Since, a.Until)
	if _, err := regexp.Compile(a.Pattern); err != nil || len(a.Pattern) > maxExpression {
		problems = append(problems, tools.Problem{
			Argument: "pattern", Problem: strings.TrimPrefix(fmt.Sprintf("%v", cmp.Or(err, errLong)), "error parsing regexp: "),
			Expected: "a regular expression in RE2 syntax (no look-around, no back references)",
			Fix:      fmt.Sprintf("to mean the characters themselves write %q", regexp.QuoteMeta(a.Pattern[:min(len(a.Pattern), 200)])),
		})
	}
	for _, name := range a.Files {
		problems = append(problems, g.checkFile(name)...)
	}
	if a.Unit != "" {
		problems = append(problems, g.journal.check(a.Unit)...)
		if len(a.Files) > 0 {
			problems = append(problems, tools.Problem{Argument: "unit", Problem: "files and unit are both given", Expected: "one of the two"})
		}
	}
	return problems
}

var errLong = errors.New("it is too long")

func (g *grep) checkFile(name string) []tools.Problem {
	if _, err := path.Match(name, ""); err != nil || name == "" {
		return []tools.Problem{{Argument: "files", Problem: fmt.Sprintf("%q is not a path or pattern", name), Expected: "a path in which * is any text, like *.log"}}
	}
	if !path.IsAbs(name) {
		return tools.CheckPath("files", name)
	}
	if g.logs.allows(path.Clean(name)) {
		return nil
	}
	p := tools.Problem{
		Argument: "files", Problem: fmt.Sprintf("%s is not among the logs that may be read", name),
		Expected: "one of " + g.logs.String() + ", or nothing for all of them",
	}
	if near := pick(g.logs.list(), path.Base(name)); len(near) > 0 {
		p.Fix = fmt.Sprintf("write %q", near[len(near)-1].shown)
	}
	return []tools.Problem{p}
}

func (g *grep) call(ctx context.Context, scope tools.Scope, a grepArguments) (tools.Result, error) {
	s, wrong := newScan(a, g.zone)
	if wrong != "" {
		return tools.Wrongf("%s.", wrong), nil
	}
	if a.Unit != "" {
		if err := g.journal.read(ctx, a.Unit, s); err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Text: s.report()}, nil
	}
	all := g.logs.list()
	files := all
	if len(a.Files) > 0 {
		files = nil
	}
	for _, wanted := range a.Files {
		found := pick(all, wanted)
		if !path.IsAbs(wanted) {
			found = append(found, inWork(scope.Work, wanted, g.secret)...)
		}
		if len(found) == 0 {
			return notThere(wanted, all), nil
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return tools.Wrongf("There are no logs: nothing matches %s, or it cannot be read.", g.logs), nil
	}
	for i, f := range files {
		if slices.ContainsFunc(files[:i], func(other logFile) bool { return other.folder == f.folder && other.name == f.name }) {
			continue
		}
		if err := g.read(ctx, f, s); err != nil {
			return tools.Result{}, err
		}
	}
	return tools.Result{Text: s.report()}, nil
}

// read searches one file. What cannot be read is noted.
func (g *grep) read(ctx context.Context, f logFile, s *scan) error {
	if !s.from.IsZero() && f.changed.Before(s.from) {
		s.old++
		return nil
	}
	if s.budget <= 0 {
		s.skip(f.shown, errBudget)
		return nil
	}
	text, err := f.open()
	if err == nil {
		err = s.file(ctx, f.shown, f.changed, text)
		text.Close()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var system *fs.PathError
	if errors.As(err, &system) {
		err = system.Err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.skip(f.shown, err)
	}
	return nil
}

// notThere says which logs there are, where none is what was asked for.
func notThere(wanted string, all []logFile) tools.Result {
	const listed = 10
	var names []string
	for _, f := range all {
		if family, _ := rotation(f.shown); !slices.Contains(names, family) {
			names = append(names, family)
		}
	}
	var bases []string
	for _, name := range names {
		bases = append(bases, path.Base(name))
	}
	text := fmt.Sprintf("There is no log %s that may be read, nor such a file in the work folder.", wanted)
	if near := nearest(path.Base(wanted), bases); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, ", or ") + "?"
	}
	if len(names) > 0 {
		text += " There are: " + strings.Join(names[:min(listed, len(names))], ", ")
	}
	if len(names) > listed {
		text += fmt.Sprintf(" and %d more", len(names)-listed)
	}
	return tools.Wrongf("%s.", strings.TrimSuffix(text, "."))
}
