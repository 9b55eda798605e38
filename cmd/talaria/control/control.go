// Package control lets the command line work on a running instance: a small HTTP API of named operations on a Unix
// socket in the instance's state folder.
//
// An operation takes JSON and writes whatever it has to say, JSON or a long stream. To add one: write a function
//
//	func (i instance) forget(ctx context.Context, in forgetRequest, out io.Writer) error
//
// add it to the table in cmd/talaria/operations.go under its name, as Reading, Writing or Running,
//
//	"sessions.forget": control.Writing(i.forget),
//
// and call it from a command by operate(ctx, cfg, "sessions.forget", forgetRequest{...}, out). The same function then
// works in the running instance if there is one, and otherwise in the command's own process, on the store as it stands
// in the file: opened for reading alone if the operation is Reading. A Running one needs an instance. The error of an
// operation reaches the command as it is, without secrets, so it should be one clear sentence. When the command is
// interrupted, the operation's context ends.
//
// Who may: the socket and the token, a new one at each start, are in a folder that only the owner can look into. The
// token is asked for because some sandboxes of commands keep files from being read, but not sockets from being reached.
//
// Goroutines: Serve is one, and has one for each connection, all ended when it returns. Operations run in parallel, in
// no order.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Need says what an operation needs.
type Need int

const (
	Read Need = iota // the store, for reading
	Write
	Run // a running instance
)

// Operation is one thing that can be asked for.
type Operation struct {
	Need Need
	// Do does it. The request is JSON, empty if there is none. It may write until it returns.
	Do func(ctx context.Context, request json.RawMessage, out io.Writer) error
}

// Operations are all that there are, by name.
type Operations map[string]Operation

// ErrNoInstance is the error of an operation that needs a running instance, and of Find if there is none.
var ErrNoInstance = errors.New("no instance is running on this data folder")

// Reading makes an operation that only reads.
func Reading[In any](do func(context.Context, In, io.Writer) error) Operation { return made(Read, do) }

// Writing makes an operation that changes what is stored.
func Writing[In any](do func(context.Context, In, io.Writer) error) Operation { return made(Write, do) }

// Running makes an operation that has a meaning in a running instance only.
func Running[In any](do func(context.Context, In, io.Writer) error) Operation { return made(Run, do) }

func made[In any](need Need, do func(context.Context, In, io.Writer) error) Operation {
	return Operation{Need: need, Do: func(ctx context.Context, request json.RawMessage, out io.Writer) error {
		var in In
		if len(request) > 0 {
			d := json.NewDecoder(bytes.NewReader(request))
			d.DisallowUnknownFields()
			if err := d.Decode(&in); err != nil {
				return fmt.Errorf("read the request: %w", err)
			}
		}
		return do(ctx, in, out)
	}}
}
