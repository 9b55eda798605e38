package tools

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Failure is the class of what went wrong in a call. Log lines and counters name it.
type Failure string

const (
	FailTool        Failure = "tool"               // the tool does not work
	FailTimeout     Failure = "timeout"            //
	FailUnreachable Failure = "refused connection" // what the tool needs cannot be reached
	FailRateLimit   Failure = "rate limit"         //
	FailArguments   Failure = "arguments"          // the caller asked for what is not there or makes no sense
	FailPermission  Failure = "permission"         //
	FailCommand     Failure = "command"            // the tool works; what it ran reported a failure
)

// AgainstTool tells whether a failure speaks against the tool itself, so that trying something else is better than
// trying it again and again.
func (f Failure) AgainstTool() bool {
	switch f {
	case FailTool, FailTimeout, FailUnreachable, FailRateLimit:
		return true
	}
	return false
}

// Trouble is an error of a tool's infrastructure together with what is known about it. A tool may return any error; this
// one says more than can be told from the outside.
type Trouble struct {
	Class    Failure
	Wait     time.Duration // how long to wait before another try, 0 = not said
	Harmless bool          // nothing was done yet, so the call can be tried again whatever its effects
	Err      error
}

func (t *Trouble) Error() string { return t.Err.Error() }
func (t *Trouble) Unwrap() error { return t.Err }

// Classify says what an error of Tool.Call is, and whether the same call may be tried again at once: if the trouble
// passes by itself, and nothing was done yet or the call changes nothing.
func Classify(err error, risk Risk) (class Failure, again bool) {
	reads := risk == ReadOnly
	var known *Trouble
	var network net.Error
	switch {
	case errors.As(err, &known):
		passing := known.Class == FailTimeout || known.Class == FailUnreachable || known.Class == FailRateLimit
		return known.Class, passing && (known.Harmless || reads)
	case errors.Is(err, syscall.ECONNREFUSED):
		return FailUnreachable, true
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF):
		return FailUnreachable, reads
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return FailTimeout, reads
	case errors.As(err, &network):
		if network.Timeout() {
			return FailTimeout, reads
		}
		return FailUnreachable, reads
	case errors.Is(err, os.ErrPermission):
		return FailPermission, false
	}
	return FailTool, false
}
