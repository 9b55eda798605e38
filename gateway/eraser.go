package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// ErrBusy is the error for a conversation that cannot be erased because something runs or waits there.
var ErrBusy = errors.New("a turn is running or a message is waiting there; stop it in the chat, or try again later")

// intentsName is the value of the store that says what is to be erased, so that a crash in the middle leaves nothing half
// done.
const intentsName = "to be erased"

// Eraser removes conversations with everything that belongs to them: log, inbox, outbox, work folder (with attachments and
// long results in it), recordings, copies of the work folder and, with a person's last conversation in a chat, the notes. Search indexes notice by
// themselves. What is to be removed is written down first, and Resume completes it. Safe for use from any goroutine.
type Eraser struct {
	Store    sessions.Store
	WorkRoot string      // folder of the work folders; empty = they share one, which stays
	Notes    NotesEraser // nil = there are none
	// Kept remove what else is kept of a conversation outside the store: recordings, copies of its work folder.
	Kept []func(sessions.Key) error

	// awake has a conversation's actor erase it, or what is a person's there, if a gateway runs; otherwise it is done here.
	awake func(ctx context.Context, key sessions.Key, person string) error
	plans *plans // the running gateway's; nil = none runs
}

// NotesEraser removes notes: those about one person below a place ("platform/account/chat", or less of it), or about
// everybody there if no person is named.
type NotesEraser interface {
	Forget(place, person string) error
}

// intents are what is to be erased.
type intents struct {
	Keys   []sessions.Key `json:"keys,omitempty"`
	People []string       `json:"people,omitempty"` // platform:id
}

// Delete removes one conversation. It fails with ErrBusy if something runs or waits there.
func (e *Eraser) Delete(ctx context.Context, key sessions.Key) error {
	if e.awake != nil {
		return e.awake(ctx, key, "")
	}
	c, err := e.Store.Acquire(ctx, key, newID())
	if err != nil {
		return err
	}
	err = e.conversation(ctx, c.Lease)
	return errors.Join(err, e.Store.Release(context.WithoutCancel(ctx), c.Lease))
}

// Resume completes what was begun before a crash.
func (e *Eraser) Resume(ctx context.Context) error {
	stored, err := e.Store.Value(ctx, intentsName)
	if err != nil || len(stored) == 0 {
		return err
	}
	var all intents
	if err := json.Unmarshal(stored, &all); err != nil {
		return fmt.Errorf("read what is to be erased: %w", err)
	}
	for _, key := range all.Keys {
		if err := e.Delete(ctx, key); err != nil {
			return fmt.Errorf("erase %s: %w", key, err)
		}
	}
	for _, person := range all.People {
		if _, err := e.Forget(ctx, person); err != nil {
			return fmt.Errorf("forget %s: %w", person, err)
		}
	}
	return nil
}

// conversation removes one conversation, for the holder of its lease.
func (e *Eraser) conversation(ctx context.Context, lease sessions.Lease) error {
	ctx = context.WithoutCancel(ctx) // half of it is of no use to anybody
	key := lease.Key
	if err := e.intend(ctx, func(i *intents) { i.Keys = with(i.Keys, key) }); err != nil {
		return err
	}
	if _, err := e.Store.Commit(ctx, sessions.Erase{Lease: lease, At: time.Now()}); err != nil {
		return err
	}
	if e.WorkRoot != "" {
		if err := os.RemoveAll(filepath.Join(e.WorkRoot, workName(key))); err != nil {
			return fmt.Errorf("remove the work folder: %w", err)
		}
	}
	for _, forget := range e.Kept {
		if err := forget(key); err != nil {
			return fmt.Errorf("remove what else is kept: %w", err)
		}
	}
	if err := e.notes(ctx, key); err != nil {
		return err
	}
	return e.intend(ctx, func(i *intents) { i.Keys = without(i.Keys, key) })
}

// notes removes the notes about the people of an erased conversation, unless they have another one in its chat.
func (e *Eraser) notes(ctx context.Context, key sessions.Key) error {
	if e.Notes == nil {
		return nil
	}
	erased, ok := takeApart(key)
	if !ok {
		return nil
	}
	for other, err := range e.Store.Keys(ctx) {
		if err != nil {
			return err
		}
		o, ok := takeApart(other)
		if ok && o.place() == erased.place() && (o.user == "" || erased.user == "" || o.user == erased.user) {
			return nil
		}
	}
	if err := e.Notes.Forget(erased.place(), erased.user); err != nil {
		return fmt.Errorf("remove the notes: %w", err)
	}
	return nil
}

// intend changes what is to be erased.
func (e *Eraser) intend(ctx context.Context, change func(*intents)) error {
	for {
		stored, err := e.Store.Value(ctx, intentsName)
		if err != nil {
			return err
		}
		var all intents
		if len(stored) > 0 {
			if err := json.Unmarshal(stored, &all); err != nil {
				return fmt.Errorf("read what is to be erased: %w", err)
			}
		}
		change(&all)
		var value []byte
		if len(all.Keys)+len(all.People) > 0 {
			if value, err = json.Marshal(all); err != nil {
				return err
			}
		}
		if string(value) == string(stored) {
			return nil
		}
		_, err = e.Store.Commit(ctx, sessions.Set{Name: intentsName, Was: stored, Value: value})
		if !errors.Is(err, sessions.ErrState) { // somebody else erases, too
			return err
		}
	}
}

func with[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

func without[T comparable](all []T, v T) []T {
	return slices.DeleteFunc(all, func(o T) bool { return o == v })
}

// parts of a session key, see SessionKey.
type keyParts struct {
	platform, account, kind, chat string
	user                          string // whose conversation it is in a group or channel
}

// takeApart is the reverse of SessionKey, as far as it goes.
func takeApart(key sessions.Key) (p keyParts, ok bool) {
	f := strings.Split(string(key), "/")
	if len(f) < 4 {
		return p, false
	}
	p = keyParts{platform: f[0], account: f[1], kind: f[2], chat: f[3]}
	if len(f) >= 6 && f[4] == "user" {
		p.user = f[5]
	}
	return p, true
}

// place is what notes are kept under.
func (p keyParts) place() string {
	return chatOf(platforms.Address{Platform: platforms.Name(p.platform), Account: p.account, Chat: p.chat})
}
