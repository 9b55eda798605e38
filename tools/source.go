package tools

import "time"

// Source has tools that come and go while the program works, because programs of others offer them. Safe for use from any
// goroutine; no method waits for anything.
type Source interface {
	// Tools returns what can be declared now, always in the same order. The version is another one whenever they are.
	Tools() (all []Tool, version uint64)
	// Missing says what ought to be there and is not.
	Missing() []Missing
	// Servers says how those are who offer the tools, in the order of the config.
	Servers() []ServerStatus
}

// ServerStatus is how one server that offers tools is, for people.
type ServerStatus struct {
	Name    string
	State   ServerState
	Since   time.Time // of the state
	Tools   []string  // that it offers, or offered last
	Refused []Missing // of its tools, that are not used
	Trouble string    // what went wrong last; empty = nothing
}

// ServerState is whether a server can be called.
type ServerState string

const (
	ServerConnecting ServerState = "connecting" // for the first time
	ServerUp         ServerState = "connected"
	ServerDown       ServerState = "not reachable" // it is tried again and again
)
