package agenttools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// The two notes that somebody has.
const (
	TargetMemory = "memory"
	TargetUser   = "user"
)

// The published sizes of the notes, in characters.
const (
	DefaultMemoryLimit = 2200
	DefaultUserLimit   = 1375
)

// Notes keeps what is noted about people: Markdown files that a person can read and edit, one folder for each person in
// each chat. The log has every change first; a file is what a change leaves behind, brought up to date by Keep after the
// commit. A file that somebody has edited counts more than the log. It may be used from any goroutine; two conversations
// of one person that change the same notes in the same moment leave the last change in the file and both in their logs.
type Notes struct {
	dir    string
	limits map[string]int // characters
}

// NewNotes returns the notes in a folder, which is made when there is something to keep.
func NewNotes(dir string, memoryLimit, userLimit int) *Notes {
	return &Notes{dir: dir, limits: map[string]int{TargetMemory: memoryLimit, TargetUser: userLimit}}
}

// Open returns somebody's notes as they are now, and the entries that the session's log lacks, because a person has
// edited a file since. Notes that are longer than allowed are cut.
func (n *Notes) Open(s *sessions.Session, owner string) (memory, user string, missing []sessions.Entry, err error) {
	texts := map[string]string{}
	for _, target := range []string{TargetMemory, TargetUser} {
		text, err := n.current(s, owner, target)
		if err != nil {
			return "", "", nil, err
		}
		if last, ok := s.LastNotes(owner, target); ok && last.Content != text {
			missing = append(missing, sessions.NotesChanged{
				Owner: owner, Target: target, Content: text, Before: digest(last.Content), At: time.Now(),
			})
		}
		texts[target] = n.within(target, text)
	}
	return texts[TargetMemory], texts[TargetUser], missing, nil
}

// within cuts notes that are too long, at the end of a line.
func (n *Notes) within(target, text string) string {
	r := []rune(text)
	if len(r) <= n.limits[target] {
		return text
	}
	text = string(r[:n.limits[target]])
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return text + "\n(The rest is left out: the notes are too long.)"
}

// Keep brings a file up to date with a change that was committed.
func (n *Notes) Keep(e sessions.NotesChanged) error {
	path := n.path(e.Owner, e.Target)
	if e.Content == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove empty notes: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of notes: %w", err)
	}
	draft := path + ".draft"
	if err := os.WriteFile(draft, []byte(e.Content+"\n"), 0o600); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	return nil
}

// Forget removes the notes of one person below a place, which is the beginning of an owner; of everybody there if person
// is empty.
func (n *Notes) Forget(place, person string) error {
	folders, err := os.ReadDir(n.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the folder of notes: %w", err)
	}
	for _, f := range folders {
		there := strings.HasPrefix(f.Name(), folderName(place)+"_")
		if !there || person != "" && !strings.HasSuffix(f.Name(), "_"+folderName(person)) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(n.dir, f.Name())); err != nil {
			return fmt.Errorf("remove notes: %w", err)
		}
	}
	return nil
}

// current returns somebody's notes: the file, unless it is one that Keep should have replaced and did not, because the
// process died in between or the disk was full.
func (n *Notes) current(s *sessions.Session, owner, target string) (string, error) {
	path := n.path(owner, target)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read notes: %w", err)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
	last, ok := s.LastNotes(owner, target)
	if !ok || text == last.Content || digest(text) != last.Before {
		return text, nil
	}
	if info, err := os.Stat(path); err == nil && info.ModTime().After(last.At) {
		return text, nil // somebody has put it back
	}
	return last.Content, n.Keep(last)
}

func (n *Notes) path(owner, target string) string {
	name := "MEMORY.md"
	if target == TargetUser {
		name = "USER.md"
	}
	return filepath.Join(n.dir, folderName(owner), name)
}

// folderName writes an owner as the name of a folder that no other owner has: slashes become underscores, and whatever
// else is neither letter, digit nor hyphen is written as its code.
func folderName(owner string) string {
	var b strings.Builder
	for _, c := range []byte(owner) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
			b.WriteByte(c)
		case c == '/':
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// blocks takes notes apart: a new one begins with a bullet, a heading, or after an empty line. Joined by line breaks they
// are what they were.
func blocks(text string) (out []string) {
	if text == "" {
		return nil
	}
	blank := true
	for line := range strings.SplitSeq(text, "\n") {
		marked := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "#")
		if out == nil || marked || blank && line != "" {
			out = append(out, line)
		} else {
			out[len(out)-1] += "\n" + line
		}
		blank = line == ""
	}
	return out
}
