// Package shadow lets a bot run in full in some places without saying anything there: whatever would be sent is written
// to a file instead. What is received is received as ever, and other places of the same account get their answers.
//
// It has no goroutine of its own. Lines of the file stand in the order in which the calls came; a call returns once its
// line is written. It never makes a call that changes anything at a place in shadow.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// connected is what an adapter must have to be put in shadow: all of ours do.
type connected interface {
	platforms.Adapter
	platforms.Editor
	platforms.Deleter
	platforms.Typer
	platforms.Reactor
	platforms.Fetcher
	platforms.Checker
	platforms.Prober
	platforms.Paced
}

// adapter passes on what is not in shadow, and writes down what is.
type adapter struct {
	connected
	places []string // see platforms.Address.Places
	file   *File
	log    *slog.Logger
}

// Wrap puts an adapter into shadow at some places: "slack", "telegram:-1001234567890", "telegram:-1001234567890/7". The
// result has the optional capabilities of the adapter and no other. An adapter that no place names is returned as it is.
func Wrap(inner platforms.Adapter, places []string, file *File, log *slog.Logger) (platforms.Adapter, error) {
	named := func(place string) bool {
		name, _, _ := strings.Cut(place, ":")
		return name == string(inner.Name())
	}
	if !slices.ContainsFunc(places, named) {
		return inner, nil
	}
	whole, ok := inner.(connected)
	if !ok {
		return nil, fmt.Errorf("%s cannot be put into shadow", inner.Name())
	}
	a := &adapter{connected: whole, places: places, file: file, log: log}
	reader, reads := inner.(interface {
		platforms.Finder
		platforms.Historian
	})
	registrar, registers := inner.(platforms.CommandRegistrar)
	drawer, draws := inner.(platforms.Streamer)
	switch {
	case reads && registers && !draws:
		return struct {
			*adapter
			finder
			historian
			menu
		}{a, finder{a, reader}, historian{reader}, menu{a, registrar}}, nil
	case reads && !draws:
		return struct {
			*adapter
			finder
			historian
		}{a, finder{a, reader}, historian{reader}}, nil
	case registers && draws && !reads:
		return struct {
			*adapter
			menu
			drafts
		}{a, menu{a, registrar}, drafts{a, drawer}}, nil
	}
	return nil, fmt.Errorf("%s cannot be put into shadow", inner.Name())
}

// dark tells whether a place is in shadow. A chat that has become another one stays in it.
func (a *adapter) dark(at platforms.Address) bool {
	named := func(place string) bool { return slices.Contains(a.places, place) }
	return slices.ContainsFunc(a.file.ever(at), func(at platforms.Address) bool { return slices.ContainsFunc(at.Places(), named) })
}

// Run receives, and keeps to itself what the acknowledgement of a press or a command would show.
func (a *adapter) Run(ctx context.Context, sink platforms.Sink) error {
	return a.connected.Run(ctx, func(ctx context.Context, u platforms.Update) (platforms.Receipt, error) {
		if m, ok := u.(*platforms.ChatMigrated); ok && a.dark(m.From) {
			a.log.Warn("a chat in shadow has become another one, which is in shadow, too; name it in shadow.places", "platform", a.Name(), "chat", m.To)
			if err := a.file.moved(m.From, m.To); err != nil {
				return platforms.Receipt{}, err
			}
		}
		receipt, err := sink(ctx, u)
		at, some := place(u)
		if err != nil || receipt.Note == "" || !some || !a.dark(at) {
			return receipt, err
		}
		if _, err := a.file.write(Line{Op: "note", To: at, Text: receipt.Note}); err != nil {
			a.log.Warn("what a person would have been shown was not written down", "error", err)
		}
		return platforms.Receipt{}, nil
	})
}

// place returns where an update that can be acknowledged with a note comes from.
func place(u platforms.Update) (platforms.Address, bool) {
	switch u := u.(type) {
	case *platforms.ButtonPressed:
		return u.Address, true
	case *platforms.CommandInvoked:
		return u.Address, true
	}
	return platforms.Address{}, false
}

// Send implements platforms.Adapter. In shadow the id of a message is one that no platform gives. A question is refused
// once it is written down: it would take the next "yes", which was said to somebody else, for its answer.
func (a *adapter) Send(ctx context.Context, to platforms.Address, out platforms.Outgoing) (string, error) {
	if !a.dark(to) {
		return a.connected.Send(ctx, to, out)
	}
	id, err := a.write("send", lineOf(to, out))
	if err == nil && out.Asks {
		return "", &platforms.Error{Class: platforms.Forbidden, Op: "shadow send", Err: errors.New("nobody sees a question in shadow")}
	}
	return id, err
}

// Edit implements platforms.Editor.
func (a *adapter) Edit(ctx context.Context, at platforms.Address, messageID string, out platforms.Outgoing) error {
	if !a.dark(at) {
		return a.connected.Edit(ctx, at, messageID, out)
	}
	line := lineOf(at, out)
	line.ID = messageID
	_, err := a.write("edit", line)
	return err
}

// Delete implements platforms.Deleter.
func (a *adapter) Delete(ctx context.Context, at platforms.Address, messageID string) error {
	if !a.dark(at) {
		return a.connected.Delete(ctx, at, messageID)
	}
	_, err := a.write("delete", Line{To: at, ID: messageID})
	return err
}

// Typing implements platforms.Typer.
func (a *adapter) Typing(ctx context.Context, at platforms.Address) error {
	if !a.dark(at) {
		return a.connected.Typing(ctx, at)
	}
	_, err := a.write("typing", Line{To: at})
	return err
}

// React implements platforms.Reactor.
func (a *adapter) React(ctx context.Context, at platforms.Address, messageID, emoji string) error {
	if !a.dark(at) {
		return a.connected.React(ctx, at, messageID, emoji)
	}
	_, err := a.write("react", Line{To: at, ID: messageID, Text: emoji})
	return err
}

// write writes a line. A file that cannot be written is as a platform in trouble: the call is tried again.
func (a *adapter) write(op string, line Line) (string, error) {
	line.Op = op
	id, err := a.file.write(line)
	if err != nil {
		return "", &platforms.Error{Class: platforms.Transient, Op: "shadow " + op, Err: err}
	}
	return id, nil
}

// finder looks for what was written in shadow in the file.
type finder struct {
	a     *adapter
	inner platforms.Finder
}

// Find implements platforms.Finder.
func (f finder) Find(ctx context.Context, at platforms.Address, out platforms.Outgoing, since time.Time) (string, error) {
	if !f.a.dark(at) {
		return f.inner.Find(ctx, at, out, since)
	}
	if out.Key == "" {
		return "", &platforms.Error{Class: platforms.Invalid, Op: "shadow find", Err: errors.New("it has no key")}
	}
	id, err := f.a.file.find(out.Key)
	if err != nil {
		return "", &platforms.Error{Class: platforms.Transient, Op: "shadow find", Err: err}
	}
	return id, nil
}

// historian is platforms.Historian without what every adapter has.
type historian struct {
	inner interface {
		History(ctx context.Context, at platforms.Address, since time.Time) ([]*platforms.Message, error)
		Connections() int
	}
}

// History implements platforms.Historian.
func (h historian) History(ctx context.Context, at platforms.Address, since time.Time) ([]*platforms.Message, error) {
	return h.inner.History(ctx, at, since)
}

// Connections implements platforms.Historian.
func (h historian) Connections() int { return h.inner.Connections() }

// drafts writes down what would be drawn.
type drafts struct {
	a     *adapter
	inner platforms.Streamer
}

// Draft implements platforms.Streamer.
func (d drafts) Draft(ctx context.Context, at platforms.Address, out platforms.Outgoing) error {
	if !d.a.dark(at) {
		return d.inner.Draft(ctx, at, out)
	}
	_, err := d.a.write("draft", lineOf(at, out))
	return err
}

// menu leaves the command menu alone where all of the platform is in shadow.
type menu struct {
	a     *adapter
	inner platforms.CommandRegistrar
}

// RegisterCommands implements platforms.CommandRegistrar.
func (m menu) RegisterCommands(ctx context.Context, commands []platforms.Command) error {
	if slices.Contains(m.a.places, string(m.a.Name())) {
		return nil
	}
	return m.inner.RegisterCommands(ctx, commands)
}
