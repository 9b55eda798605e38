package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// Limits of a search.
const (
	defaultHits   = 50
	maxHits       = 500
	maxHitBytes   = 500       // of one line
	maxSearched   = 512 << 20 // bytes read in one search
	maxEntries    = 200_000   // files and folders looked at in one search
	searchedLine  = 64 << 10  // the part of a line that is searched
	maxListBytes  = 60_000
	maxExpression = 1000
	maxContext    = 20 // lines
)

type searchArguments struct {
	Pattern    string `json:"pattern" jsonschema:"a regular expression (content) or a glob (files)"`
	Target     string `json:"target,omitempty" jsonschema:"content or files; default content"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder to search; default the work folder"`
	FileGlob   string `json:"file_glob,omitempty" jsonschema:"search only files that match this glob"`
	Limit      int    `json:"limit,omitempty" jsonschema:"how many results to return; default 50, at most 500"`
	Offset     int    `json:"offset,omitempty" jsonschema:"how many results to skip; default 0"`
	OutputMode string `json:"output_mode,omitempty" jsonschema:"of target content: content, files or count; default content"`
	Context    int    `json:"context,omitempty" jsonschema:"how many lines to show before and after each that matches; default 0, at most 20"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema:"true = also what .gitignore and .ignore files leave out"`
}

func newSearch(secrets *Secrets) (tools.Tool, error) {
	tool, err := tools.New(tools.Spec{
		Name: "search_files", Toolset: toolset, Description: searchDescription,
		Risk: tools.ReadOnly, Parallel: true, Ranged: true,
		Preview: previewSearch,
	}, func(ctx context.Context, scope tools.Scope, a searchArguments) (tools.Result, error) {
		root, err := openFolder(scope, secrets)
		if err != nil {
			return tools.Result{}, err
		}
		defer root.Close()
		return root.search(ctx, scope, a)
	})
	if err != nil {
		return nil, err
	}
	properties := tool.Spec().Schema.Properties
	properties["target"].Enum = []any{"content", "files"}
	properties["output_mode"].Enum = []any{"content", "files", "count"}
	return tool, nil
}

func previewSearch(arguments json.RawMessage) string {
	var a searchArguments
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	return strings.TrimSpace(a.Pattern + " " + a.Path)
}

func (f folder) search(ctx context.Context, scope tools.Scope, a searchArguments) (tools.Result, error) {
	start, err := inside(scope.Work, a.Path)
	if err != nil {
		return f.explain("searched", a.Path, err), nil
	}
	s := &searcher{ctx: ctx, root: f, start: start, skip: max(a.Offset, 0), limit: defaultHits, budget: maxSearched}
	if a.Limit > 0 {
		s.limit = min(a.Limit, maxHits)
	}
	if !a.Ignored {
		s.ignored = &ignores{root: f, rules: map[string][]rule{}}
	}
	s.context = min(max(a.Context, 0), maxContext)
	if a.Target == "files" {
		err = s.names(a)
	} else {
		err = s.contents(a)
	}
	var wrong *argumentError
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case errors.As(err, &wrong):
		return tools.Wrongf("%s", wrong.text), nil
	case err != nil && !errors.Is(err, errEnough):
		return f.explain("searched", start, err), nil
	}
	return tools.Result{Text: s.list(a)}, nil
}

// argumentError is for the model: an argument makes no sense.
type argumentError struct{ text string }

func (e *argumentError) Error() string { return e.text }

// searcher is one search.
type searcher struct {
	ctx         context.Context
	root        folder
	ignored     *ignores
	context     int // lines
	start       string
	skip, limit int
	budget      int64 // bytes that may still be read
	entries     int   // looked at

	hits  []string
	bytes int  // of hits
	found int  // skipped ones included
	kept  bool // the last one is in hits
	more  bool
	files int // searched
}

// hit takes a result. It ends the search when there is one more than fits.
func (s *searcher) hit(text string) error {
	s.found++
	s.kept = false
	switch {
	case s.found <= s.skip:
		return nil
	case len(s.hits) == s.limit || s.bytes > maxListBytes:
		s.more = true
		return errEnough
	}
	s.kept = true
	s.hits = append(s.hits, text)
	s.bytes += len(text)
	return nil
}

// each visits what is to be searched, which is one file, or everything below a folder.
func (s *searcher) each(visit func(name, below string, entry fs.DirEntry) error) error {
	info, err := s.root.Stat(s.start)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := regular(info); err != nil {
			return err
		}
		if s.root.hidden(s.start) {
			return errSecret
		}
		return visit(s.start, s.start, fs.FileInfoToDirEntry(info))
	}
	return s.root.walk(s.start, s.ignored, func(name string, entry fs.DirEntry) error {
		if s.entries++; s.entries > maxEntries {
			return &argumentError{fmt.Sprintf("There are more than %d files and folders; search a smaller one by path.", maxEntries)}
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		below := name
		if s.start != "." {
			below = strings.TrimPrefix(name, s.start+"/")
		}
		return visit(name, below, entry)
	})
}

// names lists files and folders.
func (s *searcher) names(a searchArguments) error {
	pattern, err := parseGlob(a.Pattern, true)
	if err != nil {
		return &argumentError{err.Error() + "."}
	}
	only, err := parseFileGlob(a.FileGlob)
	if err != nil {
		return err
	}
	return s.each(func(name, below string, entry fs.DirEntry) error {
		s.files++
		if !pattern.matches(below) || !only.matches(below) {
			return nil
		}
		return s.hit(s.describe(name, entry))
	})
}

// describe returns a line of a listing.
func (s *searcher) describe(name string, entry fs.DirEntry) string {
	info, err := s.root.Lstat(name) // entry.Info would go by the path, past the root
	switch {
	case entry.IsDir():
		return name + "/"
	case err == nil && info.Mode().IsRegular():
		return fmt.Sprintf("%s (%s)", name, count(info.Size(), "byte"))
	case entry.Type() == fs.ModeSymlink:
		return name + " (a link)"
	}
	return name + " (no regular file)"
}

func parseFileGlob(pattern string) (glob, error) {
	if pattern == "" {
		return glob{}, nil
	}
	g, err := parseGlob(pattern, false)
	if err != nil {
		return g, &argumentError{err.Error() + "."}
	}
	return g, nil
}

// contents finds lines.
func (s *searcher) contents(a searchArguments) error {
	if a.Pattern == "" || len(a.Pattern) > maxExpression {
		return &argumentError{fmt.Sprintf("The pattern must have between 1 and %d bytes.", maxExpression)}
	}
	expression, err := regexp.Compile(a.Pattern)
	if err != nil {
		return &argumentError{fmt.Sprintf("The pattern is not a regular expression in RE2 syntax: %v. "+
			"Put a backslash before characters that shall mean themselves; it would be %s.",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "), regexp.QuoteMeta(a.Pattern))}
	}
	only, err := parseFileGlob(a.FileGlob)
	if err != nil {
		return err
	}
	return s.each(func(name, below string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || !only.matches(below) {
			return nil
		}
		return s.scan(name, expression, a.OutputMode)
	})
}

// scan searches one file. One that vanished or cannot be read is left out.
func (s *searcher) scan(name string, expression *regexp.Regexp, mode string) error {
	file, _, err := s.root.open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	text := newLines(file, searchedLine)
	if text.binary != "" {
		return nil
	}
	s.files++
	matching := 0
	around := surroundings{name: name, lines: s.context, shown: -1, searcher: s}
	for number := 1; ; number++ {
		if number%1000 == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		line, left, err := text.next()
		if err != nil {
			break
		}
		if s.budget -= int64(len(line) + left + 1); s.budget < 0 {
			return &argumentError{fmt.Sprintf("More than %d MiB would have to be read; narrow the search by path or file_glob.", maxSearched>>20)}
		}
		where := expression.FindIndex(line)
		if where == nil {
			around.pass(number, line)
			continue
		}
		matching++
		switch mode {
		case "count":
		case "files":
			return s.hit(name)
		default:
			if err := s.hit(around.before(number) + fmt.Sprintf("%s:%d:%s", name, number, excerpt(line, where[0]))); err != nil {
				return err
			}
		}
	}
	if mode == "count" && matching > 0 {
		return s.hit(fmt.Sprintf("%s: %d", name, matching))
	}
	return nil
}

// excerpt returns a line, of a long one the part around the match.
func excerpt(line []byte, match int) string {
	if len(line) <= maxHitBytes {
		return readable(line)
	}
	from := max(0, min(match-maxHitBytes/4, len(line)-maxHitBytes))
	text := readable(whole(line[from : from+maxHitBytes]))
	if from > 0 {
		text = "…" + strings.TrimLeft(text, "\uFFFD")
	}
	return text + "…"
}

// list puts the answer together.
func (s *searcher) list(a searchArguments) string {
	what := "lines"
	if a.Target == "files" || a.OutputMode == "files" || a.OutputMode == "count" {
		what = "files"
	}
	if len(s.hits) == 0 {
		switch {
		case s.found > 0:
			return fmt.Sprintf("There are only %s; offset %d is behind the last.", count(s.found, "result"), s.skip)
		case a.Target == "files" && s.files == 0:
			return "The folder is empty."
		case a.Target == "files":
			return fmt.Sprintf("No name matches %s, of %d looked at.", a.Pattern, s.files)
		}
		return fmt.Sprintf("No line matches %s, in %s.", a.Pattern, count(s.files, "text file"))
	}
	text := strings.Join(s.hits, "\n")
	last := s.skip + len(s.hits)
	if s.more {
		return fmt.Sprintf("%s\n[%s %d to %d; there are more, go on with offset %d]", text, what, s.skip+1, last, last)
	}
	return fmt.Sprintf("%s\n[%s %d to %d; that is all]", text, what, s.skip+1, last)
}
