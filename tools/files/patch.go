package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

const maxPatched = 16 << 20 // bytes of a file that is patched, which is held in memory

type patchArguments struct {
	Edits []edit `json:"edits,omitempty" jsonschema:"replacements, made one after the other"`
	Diff  string `json:"diff,omitempty" jsonschema:"a unified diff of one or more files, instead of edits"`
}

type edit struct {
	Path       string `json:"path" jsonschema:"the file, relative to the work folder"`
	OldString  string `json:"old_string" jsonschema:"the text to replace, exactly as it is in the file, without line numbers"`
	NewString  string `json:"new_string" jsonschema:"the text to put there"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence; default false: it must occur once"`
}

func newPatch(secrets *Secrets) (tools.Tool, error) {
	return tools.New(tools.Spec{
		Name: "patch", Toolset: toolset, Description: patchDescription,
		Risk: tools.Writes, Parallel: true,
		Paths: pathsOfPatch, Judge: secrets.judge("patch", pathsOfPatch), Check: checkPatch, Preview: previewPatch, Details: detailsOfPatch,
	}, func(ctx context.Context, scope tools.Scope, a patchArguments) (tools.Result, error) {
		root, err := openFolder(scope, secrets)
		if err != nil {
			return tools.Result{}, err
		}
		defer root.Close()
		return root.patchAll(ctx, scope, a)
	})
}

// patched is what a call does to one file.
type patched struct {
	path    string
	created bool
	deleted bool
	changes []change
}

// plan returns the files of a call, each once, in order.
func (a patchArguments) plan() ([]patched, error) {
	var all []patched
	if a.Diff != "" {
		diffs, err := parseDiff(a.Diff)
		if err != nil {
			return nil, err
		}
		for _, d := range diffs {
			all = append(all, patched{path: d.path, created: d.created, deleted: d.deleted, changes: d.changes()})
		}
		return all, nil
	}
	for _, e := range a.Edits {
		name := path.Clean(filepath.ToSlash(e.Path))
		i := slices.IndexFunc(all, func(p patched) bool { return p.path == name })
		if i < 0 {
			i = len(all)
			all = append(all, patched{path: name})
		}
		all[i].changes = append(all[i].changes, change{old: e.OldString, fresh: e.NewString, all: e.ReplaceAll})
	}
	return all, nil
}

func planOf(arguments json.RawMessage) ([]patched, error) {
	var a patchArguments
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, err
	}
	return a.plan()
}

func pathsOfPatch(arguments json.RawMessage) []string {
	plan, err := planOf(arguments)
	if err != nil {
		return nil
	}
	var paths []string
	for _, p := range plan {
		paths = append(paths, p.path)
	}
	return paths
}

func previewPatch(arguments json.RawMessage) string {
	return strings.Join(pathsOfPatch(arguments), ", ")
}

// detailsOfPatch shows a person what would be replaced by what.
func detailsOfPatch(arguments json.RawMessage) string {
	var a patchArguments
	if json.Unmarshal(arguments, &a) != nil || a.Diff != "" {
		return strings.TrimSpace(a.Diff)
	}
	var b strings.Builder
	for _, e := range a.Edits {
		fmt.Fprintf(&b, "%s\n%s%s", e.Path, marked("-", e.OldString), marked("+", e.NewString))
		if e.ReplaceAll {
			b.WriteString("(wherever it stands)\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// marked puts a sign before each line of a text.
func marked(sign, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(sign + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

func checkPatch(arguments json.RawMessage) []tools.Problem {
	var a patchArguments
	if err := json.Unmarshal(arguments, &a); err != nil {
		return []tools.Problem{{Problem: err.Error()}}
	}
	if (a.Diff == "") == (len(a.Edits) == 0) {
		return []tools.Problem{{Problem: "there must be either edits or a diff", Expected: "edits for exact replacements, diff for a unified diff"}}
	}
	if _, err := a.plan(); err != nil {
		return []tools.Problem{{Argument: "diff", Problem: err.Error(), Expected: "a unified diff as diff -u or git diff writes it"}}
	}
	var found []tools.Problem
	for i, e := range a.Edits {
		switch name := fmt.Sprintf("edits[%d]", i); {
		case e.OldString == "":
			found = append(found, tools.Problem{
				Argument: name + ".old_string", Problem: "it is empty", Expected: "text of the file; write_file makes new files",
			})
		case e.OldString == e.NewString:
			found = append(found, tools.Problem{
				Argument: name + ".new_string", Problem: "it is the same as old_string", Expected: "what shall stand there instead",
			})
		}
	}
	return found
}

func (f folder) patchAll(ctx context.Context, scope tools.Scope, a patchArguments) (tools.Result, error) {
	plan, err := a.plan()
	if err != nil {
		return tools.Wrongf("The diff could not be read: %v.", err), nil
	}
	var all batch
	var said []string
	for _, p := range plan {
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		name, err := inside(scope.Work, p.path)
		if err != nil {
			return nothing(f.explain("patched", p.path, err)), nil
		}
		next, text, err := f.patch(name, p)
		var wrong *argumentError
		switch {
		case errors.As(err, &wrong):
			return nothing(tools.Wrongf("%s", wrong.text)), nil
		case err != nil:
			return nothing(f.explain("patched", name, err)), nil
		}
		all, said = append(all, next), append(said, text)
	}
	if name, err := f.commit(all); err != nil {
		return nothing(f.explain("patched", name, err)), nil
	}
	return tools.Result{Text: strings.Join(said, "\n")}, nil
}

// nothing adds to a failure that no file was changed.
func nothing(r tools.Result) tools.Result {
	r.Text += "\nNo file was changed."
	return r
}

// patch works out what a file is going to hold, and says so in a line for the model.
func (f folder) patch(name string, p patched) (rewrite, string, error) {
	was, err := f.writable(name)
	if err != nil {
		return rewrite{}, "", err
	}
	next := rewrite{name: name, was: was}
	switch {
	case p.created && was != nil:
		return next, "", &argumentError{name + " is there already, so a diff from /dev/null does not fit it."}
	case p.created:
		for _, c := range p.changes {
			next.content = c.fresh
		}
		return next, fmt.Sprintf("Created %s: %s.", name, count(countLines(next.content), "line")), nil
	case was == nil:
		return next, "", fs.ErrNotExist
	}
	if next.before, err = f.whole(name); err != nil {
		return next, "", err
	}
	stored, binary := charsetOf(next.before[:min(len(next.before), lookedAt)])
	if binary != "" {
		return next, "", &argumentError{fmt.Sprintf("%s is %s; only text can be patched.", name, binary)}
	}
	text, err := stored.decode(next.before)
	if err != nil {
		return next, "", &argumentError{fmt.Sprintf("%s could not be patched: %v.", name, err)}
	}
	s := newSource(text)
	times, from := 0, 0
	for i, c := range p.changes {
		end, n, err := s.apply(c, from)
		if err != nil {
			return next, "", &argumentError{fmt.Sprintf("Change %d of %s could not be made: %v.", i+1, name, err)}
		}
		if times += n; c.lines {
			from = end // hunks come in the order of their lines
		}
	}
	if p.deleted {
		if s.raw != "" {
			return next, "", &argumentError{name + " has more lines than the diff deletes."}
		}
		next.remove = true
		return next, fmt.Sprintf("Deleted %s.", name), nil
	}
	if next.content, err = stored.encode(s.raw); err != nil {
		return next, "", &argumentError{fmt.Sprintf("%s could not be patched: %v.", name, err)}
	}
	return next, fmt.Sprintf("Patched %s: %s.", name, count(times, "change")), nil
}

// whole reads a file that is not too large to be held in memory.
func (f folder) whole(name string) ([]byte, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxPatched+1))
	if err == nil && len(content) > maxPatched {
		err = &argumentError{fmt.Sprintf("%s has %s, which is too much to patch; use a program in the terminal.", name, count(info.Size(), "byte"))}
	}
	return content, err
}
