package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/talaria-agent/talaria/tools"
)

// ledger keeps one file for each command in the background of whose end the model has not heard, so that it can be told
// after a restart. Losing one loses only that.
type ledger struct{ folder string } // empty = nothing is kept

// record is what stands in such a file.
type record struct {
	tools.LeftRunning
	How string // it ended; empty = it was running
}

func (l ledger) file(id string) string { return filepath.Join(l.folder, id+".json") }

func (l ledger) write(r record) error {
	if l.folder == "" {
		return nil
	}
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return fmt.Errorf("write down what runs in the background: %w", err)
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(l.file(r.ID)+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(l.file(r.ID)+".new", l.file(r.ID))
	}
	if err != nil {
		return fmt.Errorf("write down what runs in the background: %w", err)
	}
	return nil
}

func (l ledger) remove(id string) {
	if l.folder != "" {
		_ = os.Remove(l.file(id)) // at worst the model hears of it once more
	}
}

// read returns all records, oldest first. What cannot be read is dropped.
func (l ledger) read() ([]record, error) {
	if l.folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(l.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what ran in the background: %w", err)
	}
	var all []record
	for _, e := range entries {
		name := filepath.Join(l.folder, e.Name())
		var r record
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil || l.file(r.ID) != name {
			_ = os.Remove(name)
			continue
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int { return a.Started.Compare(b.Started) })
	return all, nil
}
