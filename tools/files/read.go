package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// Limits of one page; see read_file.md.
const (
	defaultLines = 500
	maxLines     = 2000
	maxLineBytes = 2000
	maxLongLine  = 20_000 // where a call reads on in a line
	maxPageBytes = 100_000
	countBelow   = 16 << 20 // the lines of larger files are not counted to the end
)

type readArguments struct {
	Path   string `json:"path" jsonschema:"the file, relative to the work folder"`
	Offset int    `json:"offset,omitempty" jsonschema:"number of the first line to read, from 1; default 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read; default 500, at most 2000"`
	Byte   int    `json:"byte,omitempty" jsonschema:"byte of the first line to begin at, to read on in a line that is too long to be shown whole; default 0"`
}

func newRead(secrets *Secrets) (tools.Tool, error) {
	return tools.New(tools.Spec{
		Name: "read_file", Toolset: toolset, Description: readDescription,
		Risk: tools.ReadOnly, Parallel: true, Ranged: true,
		Paths: pathOf, Judge: secrets.judge("read_file", pathOf), Preview: previewPath,
	}, func(ctx context.Context, scope tools.Scope, a readArguments) (tools.Result, error) {
		root, err := openFolder(scope, secrets)
		if err != nil {
			return tools.Result{}, err
		}
		defer root.Close()
		return root.read(ctx, scope, a)
	})
}

func (f folder) read(ctx context.Context, scope tools.Scope, a readArguments) (tools.Result, error) {
	name, err := inside(scope.Work, a.Path)
	if err != nil {
		return f.explain("read", a.Path, err), nil
	}
	file, info, err := f.open(name)
	if err != nil {
		return f.explain("read", name, err), nil
	}
	defer file.Close()
	text := newLines(file, maxLineBytes)
	if a.Byte > 0 {
		text.keep = maxLongLine
	}
	if text.binary != "" {
		return tools.Wrongf("%s is %s of %s; only text can be read.", name, text.binary, count(info.Size(), "byte")), nil
	}
	p := page{offset: max(a.Offset, 1), byte: max(a.Byte, 0), limit: defaultLines, charset: text.charset}
	if a.Limit > 0 {
		p.limit = min(a.Limit, maxLines)
	}
	if err := p.fill(ctx, text, info.Size() <= countBelow); err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		return f.explain("read", name, err), nil
	}
	return p.result(name, info), nil
}

// page is the part of a file that one call returns.
type page struct {
	offset, limit int
	byte          int // of the first line, where it begins
	short         int // bytes of the first line, if it ends before that
	charset       charset
	text          strings.Builder
	taken         int  // lines in text
	total         int  // lines seen so far
	whole         bool // total is the number of lines of the file
}

// fill reads the page, and on to the end of the file if the lines are to be counted.
func (p *page) fill(ctx context.Context, text *lines, toEnd bool) error {
	full := false
	for {
		if p.total%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		from := 0
		if p.total+1 == p.offset {
			from = p.byte
		}
		text.skip = from
		line, left, err := text.next()
		if errors.Is(err, io.EOF) {
			p.whole = true
			return nil
		}
		if err != nil {
			return err
		}
		p.total++
		switch {
		case full || p.total < p.offset:
		case p.taken == p.limit || p.text.Len() > maxPageBytes:
			full = true
			if !toEnd {
				return nil
			}
		case text.skip > 0 || from > 0 && len(line) == 0:
			p.short = from - text.skip
			return nil
		default:
			p.show(line, left, from)
		}
	}
}

// show adds a line to the page, from a byte of it on, and says how to read on if so many bytes were left out.
func (p *page) show(line []byte, left, from int) {
	p.taken++
	rest := ""
	if left > 0 {
		left += len(line)
		line = whole(line)
		left -= len(line)
		rest = fmt.Sprintf(" … [%s more in this line; read on with offset %d, byte %d]", count(left, "byte"), p.total, from+len(line))
	}
	fmt.Fprintf(&p.text, "%d|%s%s\n", p.total, readable(line), rest)
}

func (p *page) result(name string, info fs.FileInfo) tools.Result {
	switch {
	case p.total == 0:
		return tools.Result{Text: name + " is empty."}
	case p.byte > 0 && p.taken == 0 && p.total == p.offset:
		return tools.Wrongf("line %d of %s has only %s; byte %d is behind its end.", p.offset, name, count(p.short, "byte"), p.byte)
	case p.taken == 0:
		return tools.Wrongf("%s has only %s; offset %d is behind its end.", name, count(p.total, "line"), p.offset)
	}
	last := p.offset + p.taken - 1
	stored := ""
	if p.charset.name != "" {
		stored = "; stored as " + p.charset.name
	}
	switch {
	case p.whole && last == p.total && p.offset == 1 && p.byte == 0:
		fmt.Fprintf(&p.text, "[the whole file: %s, %s%s]", count(p.total, "line"), count(info.Size(), "byte"), stored)
	case p.whole && last == p.total:
		fmt.Fprintf(&p.text, "[lines %d to %d of %d; this is the end%s]", p.offset, last, p.total, stored)
	case p.whole:
		fmt.Fprintf(&p.text, "[lines %d to %d of %d; read on with offset %d%s]", p.offset, last, p.total, last+1, stored)
	default:
		fmt.Fprintf(&p.text, "[lines %d to %d of a file of %s; read on with offset %d%s]", p.offset, last, count(info.Size(), "byte"), last+1, stored)
	}
	return tools.Result{Text: p.text.String()}
}
