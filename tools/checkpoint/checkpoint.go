// Package checkpoint keeps copies of conversations' work folders, each from before a turn changed something, so that a
// person can see what was changed and take it back.
//
// It is a tools.Hook: the first call of a turn that may write makes the copy, whatever it is going to change, so changes
// by commands are covered like those by file tools. The copies are plain files, each content once a conversation, below
// a folder that tools must not reach. They are bounded in number and size; what is too large to be copied is named where
// it matters. Work folders are only touched through an os.Root.
//
// Nothing here starts a goroutine. What is done to one conversation is done one after the other. A copy that cannot be
// made never stops a call.
package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// Bounds of what is kept.
const (
	maxFiles  = 5000      // of a work folder; a larger one is not copied
	maxFile   = 8 << 20   // bytes of a file that is copied
	maxCopies = 256 << 20 // bytes of all copies of a conversation; the oldest go first
)

// Options say what is kept.
type Options struct {
	Folder string                 // where copies go; made when there is one to be kept
	Keep   int                    // how many points in time of each conversation, at least one
	Skip   []string               // names of files and folders that are none of the person's work
	Secret func(path string) bool // whether the content of a file must not be shown; nil = never
	Log    *slog.Logger
}

// Store keeps the copies. Safe for use from any goroutine.
type Store struct {
	options Options
	locks   sync.Map // conversation -> *sync.Mutex
	begun   sync.Map // conversation -> the turn whose copy is made
}

// New makes a store.
func New(options Options) *Store { return &Store{options: options} }

// point is a moment in the life of a work folder: right before a turn, or a rollback, changed it.
type point struct {
	Turn      string    `json:"turn,omitempty"`    // empty = it was a rollback
	Command   string    `json:"command,omitempty"` // then, which
	Requester string    `json:"requester"`
	At        time.Time `json:"at"`
	Files     snapshot  `json:"files"`
	// Left is how the folder was left, as far as that differs from Files; a file that is gone is null. nil = not known.
	Left map[string]*file `json:"left"`

	name string // of its file
}

// left returns how the folder was when the turn had changed it.
func (p *point) left() snapshot {
	all := snapshot{}
	for path, f := range p.Files {
		all[path] = f
	}
	for path, f := range p.Left {
		if delete(all, path); f != nil {
			all[path] = *f
		}
	}
	return all
}

func (p *point) leave(now snapshot) {
	p.Left = map[string]*file{}
	for _, path := range p.Files.differing(now) {
		p.Left[path] = nil
		if f, ok := now[path]; ok {
			p.Left[path] = &f
		}
	}
}

// Before implements tools.Hook: it keeps a copy of the folder before the first call of a turn that may change it.
func (s *Store) Before(ctx context.Context, scope tools.Scope, spec tools.Spec, _ json.RawMessage) (tools.Say, error) {
	turn := cmp.Or(scope.Parent, scope.Turn)
	if !changes(spec) {
		return tools.Say{}, nil
	}
	defer s.lock(scope.Conversation)()
	if begun, _ := s.begun.Load(scope.Conversation); begun == turn {
		return tools.Say{}, nil
	}
	if err := s.begin(ctx, scope, turn); err != nil && ctx.Err() == nil {
		s.options.Log.Warn("the work folder could not be copied before it is changed", "conversation", scope.Conversation, "error", err)
	}
	s.begun.Store(scope.Conversation, turn)
	return tools.Say{}, nil
}

// After implements tools.Hook: it notes how a call has left the folder, so that what others change later can be told
// from it.
func (s *Store) After(ctx context.Context, scope tools.Scope, spec tools.Spec, _ json.RawMessage, _ tools.Result) (tools.Say, error) {
	if !changes(spec) {
		return tools.Say{}, nil
	}
	ctx = context.WithoutCancel(ctx) // the call has changed what it has changed
	defer s.lock(scope.Conversation)()
	all, err := s.points(scope.Conversation)
	if err != nil || len(all) == 0 || all[len(all)-1].Turn != cmp.Or(scope.Parent, scope.Turn) {
		return tools.Say{}, err
	}
	p := all[len(all)-1]
	now, err := s.look(ctx, scope.Work, p.left(), nil)
	if err != nil {
		return tools.Say{}, err
	}
	p.leave(now)
	return tools.Say{}, s.write(scope.Conversation, p)
}

// changes tells whether a tool's calls may change the work folder.
func changes(spec tools.Spec) bool { return spec.Risk == tools.Writes || spec.Risk == tools.Executes }

// begin keeps a copy for a turn, unless an earlier process has.
func (s *Store) begin(ctx context.Context, scope tools.Scope, turn string) error {
	all, err := s.points(scope.Conversation)
	if err != nil {
		return err
	}
	if len(all) > 0 && all[len(all)-1].Turn == turn {
		return nil
	}
	p := &point{Turn: turn, Requester: scope.Requester}
	if err := s.add(ctx, scope.Conversation, scope.Work, p, all); err != nil {
		return err
	}
	return s.prune(scope.Conversation, append(all, p))
}

// add copies the folder as it is now and writes the point behind the others.
func (s *Store) add(ctx context.Context, conversation, work string, p *point, all []*point) error {
	known := snapshot{}
	if len(all) > 0 {
		known = all[len(all)-1].left()
	}
	var err error
	if p.Files, err = s.look(ctx, work, known, s.blobs(conversation)); err != nil {
		return err
	}
	next := 1
	if len(all) > 0 {
		if _, err := fmt.Sscanf(all[len(all)-1].name, "%d", &next); err != nil {
			return fmt.Errorf("number of %s: %w", all[len(all)-1].name, err)
		}
		next++
	}
	p.name, p.At = fmt.Sprintf("%08d.json", next), time.Now()
	return s.write(conversation, p)
}

// points reads the points of a conversation, the oldest first.
func (s *Store) points(conversation string) ([]*point, error) {
	names, err := filepath.Glob(filepath.Join(s.folder(conversation), "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []*point
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p := &point{name: filepath.Base(name)}
		if err := json.Unmarshal(text, p); err != nil {
			return nil, fmt.Errorf("read %s: %w", p.name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (s *Store) write(conversation string, p *point) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(s.folder(conversation), p.name), text)
}

// prune forgets the oldest points, as many as are too many or too large together, and the contents that nobody needs
// any more.
func (s *Store) prune(conversation string, all []*point) error {
	for len(all) > 1 && (len(all) > s.options.Keep || size(all) > maxCopies) {
		if err := os.Remove(filepath.Join(s.folder(conversation), all[0].name)); err != nil {
			return err
		}
		all = all[1:]
	}
	needed := map[string]bool{}
	for _, p := range all {
		for _, f := range p.Files {
			needed[f.Hash] = true
		}
	}
	blobs := s.blobs(conversation)
	entries, err := os.ReadDir(blobs.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !needed[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(blobs.folder, e.Name())))
		}
	}
	return err
}

// Forget removes all copies of a conversation's work folder.
func (s *Store) Forget(conversation string) error {
	defer s.lock(conversation)()
	s.begun.Delete(conversation)
	return os.RemoveAll(s.folder(conversation))
}

// size returns the bytes of all contents that points need, each counted once.
func size(all []*point) int64 {
	var sum int64
	seen := map[string]bool{"": true}
	for _, p := range all {
		for _, f := range p.Files {
			if !seen[f.Hash] {
				seen[f.Hash] = true
				sum += f.Size
			}
		}
	}
	return sum
}

// folder is where a conversation's copies are.
func (s *Store) folder(conversation string) string {
	return filepath.Join(s.options.Folder, strings.NewReplacer("/", "_", ":", "_").Replace(conversation))
}

func (s *Store) blobs(conversation string) *blobs {
	return &blobs{filepath.Join(s.folder(conversation), "contents")}
}

func (s *Store) lock(conversation string) (unlock func()) {
	lock, _ := s.locks.LoadOrStore(conversation, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}
