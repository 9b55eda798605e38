// Package files is the toolset that reads, writes, patches and searches the files of a conversation's work folder.
//
// All access goes through an os.Root on the folder, so neither "..", nor an absolute path, nor a symbolic link leads out
// of it; pipes and devices are never opened for reading. Files are streamed, and held in
// memory whole only to be patched. The tools start
// no goroutines and end early, with an error, when the context does.
package files

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/talaria-agent/talaria/tools"
)

// toolset is the name under which the configuration switches these tools on.
const toolset = "files"

var (
	//go:embed read_file.md
	readDescription string
	//go:embed write_file.md
	writeDescription string
	//go:embed patch.md
	patchDescription string
	//go:embed search_files.md
	searchDescription string
)

// New returns the tools of the set: read_file, write_file, patch, search_files.
// Files with
// credentials are touched only with a person's permission, and never found by a search.
func New(secrets *Secrets) ([]tools.Tool, error) {
	var set []tools.Tool
	for _, newTool := range []func(*Secrets) (tools.Tool, error){newRead, newWrite, newPatch, newSearch} {
		tool, err := newTool(secrets)
		if err != nil {
			return nil, err
		}
		set = append(set, tool)
	}
	return set, nil
}

var (
	errOutside = errors.New("it lies outside of the work folder")
	errSpecial = errors.New("it is neither a file nor a folder, but a pipe, a device or a socket")
	errFolder  = errors.New("it is a folder")
	errSecret  = errors.New("it holds credentials, which only a person can let you touch")
)

// folder is a work folder, opened.
type folder struct {
	*os.Root
	secrets *Secrets
	granted bool // files with credentials may be touched
}

func openFolder(scope tools.Scope, secrets *Secrets) (folder, error) {
	root, err := os.OpenRoot(scope.Work)
	if err != nil {
		return folder{}, fmt.Errorf("open the work folder: %w", err)
	}
	return folder{root, secrets, slices.Contains(scope.Grants, tools.GrantSecrets)}, nil
}

// inside returns a path as the model gave it relative to the work folder. Absolute paths are accepted if they lie in
// it, since commands print such paths.
func inside(work, name string) (string, error) {
	if filepath.IsAbs(name) {
		relative, err := filepath.Rel(work, name)
		if err != nil {
			return "", errOutside
		}
		name = relative
	}
	name = path.Clean(filepath.ToSlash(name))
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", errOutside
	}
	return name, nil
}

// open opens a regular file for reading.
func (f folder) open(name string) (*os.File, fs.FileInfo, error) {
	// O_NONBLOCK, because opening a pipe would wait for its writer. It is looked at before, because merely opening a
	// device can have effects, and again afterwards, because it may have been exchanged in between.
	if info, err := f.Stat(name); err != nil {
		return nil, nil, err
	} else if f.hidden(name) {
		return nil, nil, errSecret
	} else if err := regular(info); err != nil {
		return nil, nil, err
	}
	file, err := f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errFolder
	case !info.Mode().IsRegular():
		return errSpecial
	}
	return nil
}

// explain returns, for the model, why something could not be done with a path.
func (f folder) explain(what, name string, err error) tools.Result {
	var system *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text := fmt.Sprintf("%s is not there.", name)
		if near := f.near(name); len(near) > 0 {
			text += " Did you mean " + strings.Join(near, ", or ") + "?"
		} else {
			text += ` search_files with target "files" lists what is there.`
		}
		return tools.Wrongf("%s", text)
	case errors.Is(err, errFolder):
		return tools.Wrongf(`%s is a folder. List it with search_files, target "files", path %q.`, name, name)
	case errors.Is(err, errSecret):
		return tools.Result{Text: fmt.Sprintf("%s could not be %s: %v.", name, what, err), Failed: true, Class: tools.FailPermission}
	case escapes(err):
		return tools.Wrongf("%s could not be %s: %v.", name, what, errOutside)
	case errors.Is(err, errSpecial):
		return tools.Wrongf("%s could not be %s: %v.", name, what, err)
	case errors.As(err, &system):
		err = system.Err // without the path of the folder on this machine
	}
	return tools.Failf("%s could not be %s: %v.", name, what, err)
}

// escapes recognises the error of os.Root for a path that leads out; the package does not export it.
func escapes(err error) bool {
	var system *fs.PathError
	return errors.Is(err, errOutside) || errors.As(err, &system) && strings.Contains(system.Err.Error(), "escapes")
}

// count returns a number of things, in words: "1 line", "2 lines".
func count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// pathOf returns the path that a call of read_file or write_file touches.
func pathOf(arguments json.RawMessage) []string {
	var a struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(arguments, &a) != nil || a.Path == "" {
		return nil
	}
	return []string{path.Clean(filepath.ToSlash(a.Path))}
}

// previewPath shows the path that a call is about.
func previewPath(arguments json.RawMessage) string {
	if paths := pathOf(arguments); len(paths) > 0 {
		return paths[0]
	}
	return ""
}
