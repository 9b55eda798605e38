package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

type writeArguments struct {
	Path    string `json:"path" jsonschema:"the file, relative to the work folder"`
	Content string `json:"content" jsonschema:"all that the file shall hold"`
}

var errLink = errors.New("it is a symbolic link; write to the file that it points to")

func newWrite(secrets *Secrets) (tools.Tool, error) {
	return tools.New(tools.Spec{
		Name: "write_file", Toolset: toolset, Description: writeDescription,
		Risk: tools.Writes, Parallel: true,
		Paths: pathOf, Judge: secrets.judge("write_file", pathOf), Preview: previewPath, Details: detailsOfWrite,
	}, func(ctx context.Context, scope tools.Scope, a writeArguments) (tools.Result, error) {
		root, err := openFolder(scope, secrets)
		if err != nil {
			return tools.Result{}, err
		}
		defer root.Close()
		return root.write(ctx, scope, a)
	})
}

// detailsOfWrite shows a person the path and all that the file shall hold.
func detailsOfWrite(arguments json.RawMessage) string {
	var a writeArguments
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	return a.Path + "\n\n" + a.Content
}

func (f folder) write(ctx context.Context, scope tools.Scope, a writeArguments) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	name, err := inside(scope.Work, a.Path)
	if err != nil {
		return f.explain("written", a.Path, err), nil
	}
	was, err := f.writable(name)
	if err == nil {
		_, err = f.commit(batch{{name: name, content: a.Content, was: was}})
	}
	if err != nil {
		return f.explain("written", name, err), nil
	}
	size := count(countLines(a.Content), "line") + ", " + count(len(a.Content), "byte")
	if was == nil {
		return tools.Result{Text: fmt.Sprintf("Created %s: %s.", name, size)}, nil
	}
	return tools.Result{Text: fmt.Sprintf("Replaced %s: %s; it had %s before.", name, size, count(was.Size(), "byte"))}, nil
}

// writable looks at what a write would replace: nil if there is nothing.
func (f folder) writable(name string) (fs.FileInfo, error) {
	if f.hidden(name) {
		return nil, errSecret
	}
	info, err := f.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode().Type() == fs.ModeSymlink:
		return nil, errLink // renaming over it would quietly part the two
	}
	return info, regular(info)
}

// countLines counts a last line without an end, too.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
