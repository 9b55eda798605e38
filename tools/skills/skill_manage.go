package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

const (
	maxWritten = 64 << 10 // bytes of a file that is written
	maxOwn     = 200      // skills that the assistant may write
)

type manageArguments struct {
	Action  string `json:"action" jsonschema:"create, edit, patch or delete"`
	Name    string `json:"name" jsonschema:"of the skill"`
	File    string `json:"file,omitempty" jsonschema:"a file of the skill, relative to its folder; empty = SKILL.md, or for delete the whole skill"`
	Content string `json:"content,omitempty" jsonschema:"the text, for create, edit and patch"`
	OldText string `json:"old_text,omitempty" jsonschema:"what is to be replaced, for patch"`
}

func newManage(l *Library) (tools.Tool, error) {
	decode := func(raw json.RawMessage) (a manageArguments) {
		_ = json.Unmarshal(raw, &a)
		return a
	}
	tool, err := tools.New(tools.Spec{
		Name: "skill_manage", Toolset: Toolset, Description: manageDescription, Risk: tools.Outside,
		Check: func(raw json.RawMessage) []tools.Problem { return decode(raw).check() },
		Judge: func(s tools.Scope, raw json.RawMessage) tools.Judgement {
			return tools.Judgement{
				Verdict: tools.AskFirst, Rule: tools.Rule("skill_manage", string(raw)),
				Reason: "It changes what I go by in all conversations, not only in this one.",
			}
		},
		Preview: func(raw json.RawMessage) string {
			a := decode(raw)
			return strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Action, a.Name, a.File))
		},
		Details: func(raw json.RawMessage) string {
			a := decode(raw)
			text := strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Action, a.Name, a.File))
			if a.OldText != "" {
				text += "\n\ninstead of:\n" + a.OldText
			}
			if a.Content != "" {
				text += "\n\n" + strings.TrimSpace(a.Content)
			}
			return text
		},
	}, l.manage)
	if err != nil {
		return nil, err
	}
	tool.Spec().Schema.Properties["action"].Enum = []any{"create", "edit", "patch", "delete"}
	return tool, nil
}

func (a manageArguments) check() (found []tools.Problem) {
	if err := checkName(a.Name); err != nil {
		found = append(found, tools.Problem{Argument: "name", Problem: err.Error(), Expected: `a name like "deploy-shop"`})
	}
	if a.Action != "delete" && strings.TrimSpace(a.Content) == "" && (a.Action != "patch" || a.OldText == "") {
		found = append(found, tools.Problem{Argument: "content", Problem: "it is missing", Expected: "the text, for " + a.Action})
	}
	if a.Action == "patch" && a.OldText == "" {
		found = append(found, tools.Problem{Argument: "old_text", Problem: "it is missing", Expected: "a piece that stands in the file exactly once"})
	}
	if a.Action == "create" && a.file() != mainFile {
		found = append(found, tools.Problem{Argument: "file", Problem: "a new skill begins with its SKILL.md", Fix: "leave it out, and add the file with edit"})
	}
	if clean := a.file(); !filepath.IsLocal(clean) || strings.HasPrefix(path.Base(clean), ".") {
		found = append(found, tools.Problem{Argument: "file", Problem: "it leads out of the skill, or is hidden", Expected: "a path like references/api.md"})
	}
	return found
}

// file names the file that is meant.
func (a manageArguments) file() string {
	if a.File == "" {
		return mainFile
	}
	return path.Clean(filepath.ToSlash(a.File))
}

func (l *Library) manage(_ context.Context, _ tools.Scope, a manageArguments) (tools.Result, error) {
	f := l.look()
	s, exists := f.find(a.Name)
	switch {
	case exists && s.Source != Own:
		return tools.Wrongf("The skill %s is not yours (%s), so it stays as it is. Write one of your own under another name.", a.Name, s.Source), nil
	case a.Action == "create" && exists:
		return tools.Wrongf("There is a skill %s already; use edit or patch.", a.Name), nil
	case a.Action != "create" && !exists:
		return tools.Wrongf("You have written no skill %q. There are:\n%s", a.Name, f.names()), nil
	case a.Action == "create" && f.own() >= maxOwn:
		return tools.Wrongf("There are %d skills of yours, and more are not kept. Delete what is of no use any more.", maxOwn), nil
	}
	if err := os.MkdirAll(l.options.Own, 0o700); err != nil {
		return tools.Result{}, fmt.Errorf("make the folder of skills: %w", err)
	}
	root, err := os.OpenRoot(l.options.Own)
	if err != nil {
		return tools.Result{}, fmt.Errorf("open the folder of skills: %w", err)
	}
	defer root.Close()
	folder := a.Name
	if exists {
		if folder, err = filepath.Rel(l.options.Own, s.Place); err != nil {
			return tools.Result{}, err
		}
	}
	if a.Action == "delete" {
		return remove(root, folder, a)
	}
	return l.write(root, folder, s, a)
}

func (f *found) own() (n int) {
	for _, s := range f.skills {
		if s.Source == Own {
			n++
		}
	}
	return n
}

// remove takes away a skill, or one of its files.
func remove(root *os.Root, folder string, a manageArguments) (tools.Result, error) {
	if a.File == "" {
		if err := root.RemoveAll(folder); err != nil {
			return tools.Result{}, fmt.Errorf("remove skill %s: %w", a.Name, err)
		}
		return tools.Result{Text: "The skill " + a.Name + " is gone."}, nil
	}
	if a.file() == mainFile {
		return tools.Wrongf("A skill is nothing without its SKILL.md. To remove all of it, leave file out."), nil
	}
	switch err := root.Remove(path.Join(folder, a.file())); {
	case errors.Is(err, fs.ErrNotExist):
		return tools.Wrongf("The skill %s has no file %s.", a.Name, a.file()), nil
	case err != nil:
		return tools.Result{}, fmt.Errorf("remove a file of skill %s: %w", a.Name, err)
	}
	return tools.Result{Text: fmt.Sprintf("%s of the skill %s is gone.", a.file(), a.Name)}, nil
}

// write puts a text into a file of a skill, all of it or nothing.
func (l *Library) write(root *os.Root, folder string, s Skill, a manageArguments) (tools.Result, error) {
	text := a.Content
	if a.Action == "patch" {
		old, err := s.read(a.file())
		if err != nil {
			return tools.Wrongf("%s of the skill %s cannot be read: %v.", a.file(), a.Name, err), nil
		}
		if n := strings.Count(old, a.OldText); n != 1 {
			return tools.Wrongf("old_text stands in %s %d times; it must stand there exactly once.", a.file(), n), nil
		}
		text = strings.Replace(old, a.OldText, a.Content, 1)
	}
	if why := l.refused(text, a); why != "" {
		return tools.Wrongf("This was not written: %s.", why), nil
	}
	target := path.Join(folder, a.file())
	if err := root.MkdirAll(path.Dir(target), 0o700); err != nil {
		return tools.Result{}, fmt.Errorf("make a folder of skill %s: %w", a.Name, err)
	}
	draft := path.Join(path.Dir(target), ".draft")
	if err := root.WriteFile(draft, []byte(text), 0o600); err != nil {
		return tools.Result{}, fmt.Errorf("write skill %s: %w", a.Name, err)
	}
	if err := root.Rename(draft, target); err != nil {
		return tools.Result{}, fmt.Errorf("write skill %s: %w", a.Name, err)
	}
	return tools.Result{Text: fmt.Sprintf("Written: %s of the skill %s. skill_view reads it at once; the list in your instructions follows with the next session.", a.file(), a.Name)}, nil
}

// refused says why a text may not become a file of a skill, empty if it may.
func (l *Library) refused(text string, a manageArguments) string {
	if len(text) > maxWritten {
		return fmt.Sprintf("it has %d KiB, and %d are the most", len(text)>>10, maxWritten>>10)
	}
	if l.options.Suspicious != nil {
		if why := l.options.Suspicious(text); why != "" {
			return why + ", and skills become part of your instructions"
		}
	}
	if a.file() != mainFile {
		return ""
	}
	switch s, _, err := parse(text); {
	case err != nil:
		return err.Error()
	case s.Name != a.Name:
		return fmt.Sprintf("its front matter names the skill %s, and not %s", s.Name, a.Name)
	}
	return ""
}
