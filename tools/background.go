package tools

import "time"

// LeftRunning is a program that a call has left running in the background.
type LeftRunning struct {
	ID           string // unique, also over restarts
	Conversation string // that it belongs to
	Requester    string // for whom it was started
	Reply        string // where the person is told of its end, see Scope
	Command      string
	Started      time.Time
	Notify       bool // the person is to be told of its end
}

// LeftOver is the end of such a program.
type LeftOver struct {
	LeftRunning
	How  string // "exit code 0 after 12 s"; follows the word "ended:"
	Last string // its last lines
}
