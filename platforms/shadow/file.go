package shadow

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// Line is one call that was not made, as it stands in the file: one JSON object a line.
type Line struct {
	At      time.Time            `json:"at"`
	Op      string               `json:"op"` // send, edit, draft, delete, react, typing, note, moved
	To      platforms.Address    `json:"to"`
	ID      string               `json:"id,omitempty"`   // of the message; of a new one it begins with "shadow-"
	Text    string               `json:"text,omitempty"` // Markdown; of a reaction the emoji; of a move the new chat
	Plain   bool                 `json:"plain,omitempty"`
	Buttons [][]platforms.Button `json:"buttons,omitempty"`
	ReplyTo string               `json:"reply_to,omitempty"`
	Key     string               `json:"key,omitempty"` // the same for every attempt at the same message
}

func lineOf(to platforms.Address, out platforms.Outgoing) Line {
	return Line{To: to, Text: out.Text, Plain: out.Plain, Buttons: out.Buttons, ReplyTo: out.ReplyTo, Key: out.Key}
}

// File takes the lines of all adapters. When it is full it becomes FILE.1, whose predecessor goes. Safe for use from any
// goroutine.
type File struct {
	path string
	most int64 // bytes

	mu    sync.Mutex
	f     *os.File
	size  int64
	next  int
	start int64 // tells the ids of this process from earlier ones
	moves []Line
}

// Open opens the file, which only its owner may read, and makes it and its folder if they are not there.
func Open(path string, most int64) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the shadow file: %w", err)
	}
	file := &File{path: path, most: most, start: time.Now().UnixMilli()}
	err := each(path, func(l Line) bool {
		if l.Op == "moved" {
			file.moves = append(file.moves, l)
		}
		return true
	})
	if err == nil {
		err = file.open()
	}
	if err != nil {
		return nil, fmt.Errorf("open the shadow file: %w", err)
	}
	return file, nil
}

// open opens the file at its end. A line that a crash has cut off is ended there.
func (file *File) open() error {
	f, err := os.OpenFile(file.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	file.f, file.size = f, info.Size()
	last := []byte{'\n'}
	if file.size > 0 {
		if _, err := f.ReadAt(last, file.size-1); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if last[0] != '\n' {
		return file.put([]byte{'\n'})
	}
	return nil
}

// Close closes the file.
func (file *File) Close() error {
	file.mu.Lock()
	defer file.mu.Unlock()
	return file.f.Close()
}

// write appends a line and returns the id of the message that it is about.
func (file *File) write(l Line) (string, error) {
	file.mu.Lock()
	defer file.mu.Unlock()
	if l.Op == "send" {
		file.next++
		l.ID = fmt.Sprintf("shadow-%d-%d", file.start, file.next)
	}
	return l.ID, file.append(l)
}

// append writes a line, in a new file if this one is full; mu is held.
func (file *File) append(l Line) error {
	l.At = time.Now().UTC()
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if file.size > 0 && file.size+int64(len(data)) > file.most {
		if err := file.rotate(); err != nil {
			return err
		}
	}
	return file.put(data)
}

// put writes bytes, all or, as far as the disk allows it, none.
func (file *File) put(data []byte) error {
	n, err := file.f.Write(data)
	if err != nil {
		err = errors.Join(err, file.f.Truncate(file.size))
		return err
	}
	file.size += int64(n)
	return nil
}

// rotate begins a new file; it knows the moves, too.
func (file *File) rotate() error {
	if err := os.Rename(file.path, file.path+".1"); err != nil {
		return err
	}
	if err := file.f.Close(); err != nil {
		return err
	}
	if err := file.open(); err != nil {
		return err
	}
	for _, l := range file.moves {
		data, err := json.Marshal(l)
		if err == nil {
			err = file.put(append(data, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moved remembers that a chat in shadow has become another one.
func (file *File) moved(from platforms.Address, to string) error {
	file.mu.Lock()
	defer file.mu.Unlock()
	l := Line{Op: "moved", To: from, Text: to}
	if slices.ContainsFunc(file.moves, func(known Line) bool { return known.To == from && known.Text == to }) {
		return nil
	}
	if err := file.append(l); err != nil {
		return err
	}
	file.moves = append(file.moves, l)
	return nil
}

// ever returns an address with all ids that its chat has had.
func (file *File) ever(at platforms.Address) []platforms.Address {
	file.mu.Lock()
	defer file.mu.Unlock()
	all := []platforms.Address{at}
	for _, l := range slices.Backward(file.moves) {
		if l.To.Platform == at.Platform && l.Text == at.Chat {
			at.Chat = l.To.Chat
			all = append(all, at)
		}
	}
	return all
}

// find returns the id of the message that was sent under a key, empty if there is none.
func (file *File) find(key string) (id string, err error) {
	file.mu.Lock()
	defer file.mu.Unlock()
	for _, path := range []string{file.path, file.path + ".1"} {
		err := each(path, func(l Line) bool {
			if l.Op == "send" && l.Key == key {
				id = l.ID
			}
			return id == ""
		})
		if id != "" || err != nil {
			return id, err
		}
	}
	return "", nil
}

// each calls see with every line of a file that can be read, until it returns false. A file that is not there has none.
func each(path string, see func(Line) bool) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		data, err := r.ReadBytes('\n')
		var l Line
		if json.Unmarshal(data, &l) == nil && !see(l) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
