package control

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// longest is the length that the path of a socket can have, in bytes, on all systems: macOS allows 103.
const longest = 100

// door is where a running instance can be reached, as it stands in a file in the state folder.
type door struct {
	Socket string `json:"socket"` // path
	Token  string `json:"token"`
}

func doorFile(folder string) string { return filepath.Join(folder, "control.json") }

// open makes a new door and listens at it. The caller must be the only instance on the folder, because whatever door an
// earlier one has left is removed.
func open(folder string) (door, net.Listener, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return door{}, nil, err
	}
	if old, err := find(folder); err == nil {
		old.remove(folder)
	}
	d := door{Socket: filepath.Join(folder, "control.sock"), Token: rand.Text()}
	if len(d.Socket) > longest { // the folder is too deep for a socket
		short, err := os.MkdirTemp("", "talaria-")
		if err != nil {
			return door{}, nil, fmt.Errorf("make a folder for the control socket: %w", err)
		}
		d.Socket = filepath.Join(short, "control.sock")
	}
	_ = os.Remove(d.Socket) // of an instance that died between the two
	l, err := net.Listen("unix", d.Socket)
	if err != nil {
		return door{}, nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	if err := errors.Join(os.Chmod(d.Socket, 0o600), d.write(folder)); err != nil {
		d.remove(folder)
		return door{}, nil, errors.Join(fmt.Errorf("make the control socket: %w", err), l.Close())
	}
	return d, l, nil
}

// write puts the door's file in its place, whole or not at all.
func (d door) write(folder string) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	temporary := doorFile(folder) + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, doorFile(folder))
}

// find returns the door that is written in the folder.
func find(folder string) (door, error) {
	text, err := os.ReadFile(doorFile(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return door{}, ErrNoInstance
	}
	var d door
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return door{}, fmt.Errorf("read %s: %w", doorFile(folder), err)
	}
	return d, nil
}

// remove takes away the door: its file, its socket, and the folder of a socket that has one for itself.
func (d door) remove(folder string) {
	_ = os.Remove(doorFile(folder))
	if info, err := os.Lstat(d.Socket); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(d.Socket)
	}
	if own := filepath.Dir(d.Socket); own != folder {
		_ = os.Remove(own) // does nothing to one that holds anything
	}
}
