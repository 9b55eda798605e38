package terminal

import (
	"os"

	"github.com/creack/pty"
)

// The size of a command's terminal, in characters.
const (
	columns = 120
	rows    = 40
)

// openTerminal makes a terminal: what is written to ours is typed on it, and what is read from ours shows on it.
func openTerminal() (ours, theirs *os.File, err error) {
	ours, theirs, err = pty.Open()
	if err != nil {
		return nil, nil, err
	}
	if err := pty.Setsize(ours, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		ours.Close()
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}
