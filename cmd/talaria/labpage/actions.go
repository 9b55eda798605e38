package labpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

const (
	// maxBody is the longest request in bytes. Pasted texts fit; the simulators have limits of their own.
	maxBody = 1 << 20
	// patience is how long a press or command waits for the bot before the page says that nothing came back.
	patience = 10 * time.Second
)

// action is what the page asks for. Each endpoint reads the fields that it needs.
type action struct {
	Platform platforms.Name `json:"platform"`
	User     string         `json:"user"`
	Chat     string         `json:"chat"`
	Thread   string         `json:"thread"`
	Message  string         `json:"message"` // id of the message edited, deleted or pressed
	Text     string         `json:"text"`
	Mention  bool           `json:"mention"`
	ReplyTo  string         `json:"replyTo"`
	File     string         `json:"file"`
	Data     string         `json:"data"`     // of a button
	Command  string         `json:"command"`  // name of a native command
	Argument string         `json:"argument"` // of a native command
	Fault    string         `json:"fault"`    // one of the names in faults.go
	Target   string         `json:"target"`   // what the fault is aimed at
}

// answer is what an endpoint says back.
type answer struct {
	ID       string   `json:"id,omitempty"`       // of a message just written
	Notes    []string `json:"notes,omitempty"`    // what the platform shows to this person alone
	Answered bool     `json:"answered,omitempty"` // the bot reacted to the press or command in time
	Error    string   `json:"error,omitempty"`
}

// post makes a handler of an action: it reads JSON and writes JSON. An error is the person's to see, so its text is
// sent as it is.
func post(do func(context.Context, action) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			writeJSON(w, http.StatusUnsupportedMediaType, answer{Error: "send JSON, as application/json"})
			return
		}
		var a action
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&a); err != nil {
			status := http.StatusBadRequest
			if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
				status = http.StatusRequestEntityTooLarge
			}
			writeJSON(w, status, answer{Error: fmt.Sprintf("reading the request: %v", err)})
			return
		}
		got, err := do(r.Context(), a)
		if err != nil {
			writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, got)
	}
}

// stage finds the simulator that an action is for.
func (s server) stage(a action) (sim.Stage, error) {
	p, ok := s.pane(a.Platform)
	if !ok {
		return nil, fmt.Errorf("there is no platform %q in this lab", a.Platform)
	}
	return p.Stage, nil
}

func (s server) say(_ context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	id, err := stage.Say(sim.Say{
		User: a.User, Chat: a.Chat, Thread: a.Thread, Text: a.Text, Mention: a.Mention, ReplyTo: a.ReplyTo, File: a.File,
	})
	return answer{ID: id}, err
}

func (s server) edit(_ context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	return answer{}, stage.EditAs(a.User, a.Chat, a.Message, a.Text)
}

func (s server) remove(_ context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	return answer{}, stage.DeleteAs(a.User, a.Chat, a.Message)
}

func (s server) press(ctx context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	notes, err := stage.Press(a.User, a.Chat, a.Message, a.Data)
	if err != nil {
		return answer{}, err
	}
	return await(ctx, notes), nil
}

func (s server) invoke(ctx context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	notes, err := stage.Invoke(a.User, a.Chat, a.Thread, a.Command, a.Argument)
	if err != nil {
		return answer{}, err
	}
	return await(ctx, notes), nil
}

// await collects what the platform shows in answer until the channel is closed or nothing more can be expected.
func await(ctx context.Context, notes <-chan string) answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var got answer
	for {
		select {
		case note, ok := <-notes:
			if !ok {
				return got
			}
			got.Answered = true
			if note != "" {
				got.Notes = append(got.Notes, note)
			}
		case <-ctx.Done():
			return got
		}
	}
}
