package loop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Model is one streaming call to a language model. Implementations convert the internal format at their edge, classify
// errors once, and may be used from any goroutine.
type Model interface {
	// Name is the model's name as the provider knows it.
	Name() string
	// Call sends a request and returns the complete reply. Meanwhile each piece of text goes to onText, in order, from
	// the calling goroutine. A reply that was cut off before its end is an error, never half a reply. When the context
	// ends, Call returns promptly with the context's cause and leaves no goroutine behind.
	Call(ctx context.Context, req Request, onText func(delta string)) (Reply, error)
}

// Request is one model call. System, Tools and the beginning of Messages are byte-stable over the rounds of a session,
// so that providers can cache them.
type Request struct {
	System    string
	Tools     json.RawMessage // declarations as built by Declare; nil = none
	Messages  []sessions.Message
	Images    []Image // shown with messages of people; never persisted
	Hint      string  // call-time note, put after everything stable; never persisted
	NoTools   bool    // the model may not call tools now; they stay declared
	MaxOutput int     // tokens, 0 = the provider's default
}

// Image is a picture that a request shows with one of its messages.
type Image struct {
	tools.Image
	At int // index in Messages of the message that it goes with, which must be a user's
}

// Finish says why a model stopped.
type Finish string

const (
	FinishStop     Finish = "stop"       // it was done
	FinishTools    Finish = "tool calls" // it wants tools run
	FinishLength   Finish = "length"     // it ran into the output limit
	FinishFiltered Finish = "filtered"   // the provider withheld the answer
)

// Reply is a complete reply.
type Reply struct {
	Message sessions.Message // role assistant
	Usage   sessions.Usage   // zero if the provider did not report it
	Finish  Finish
}

// ErrorClass says what a failed model call means for the loop.
type ErrorClass string

const (
	ModelRateLimited ErrorClass = "rate limited"
	ModelOverloaded  ErrorClass = "overloaded" // 5xx and the like: try again
	ModelNetwork     ErrorClass = "network"    // refused, cut, timed out: try again
	ModelTooLong     ErrorClass = "context too long"
	ModelBadRequest  ErrorClass = "bad request" // repeating it is useless
	ModelAuth        ErrorClass = "auth"
	ModelQuota       ErrorClass = "quota"
	ModelFiltered    ErrorClass = "content filter"

	// CallCancelled is no failure: whoever asked did not want the reply any more. Only Called names it.
	CallCancelled ErrorClass = "cancelled"
)

// ModelError is a failed model call. Its text holds no secret.
type ModelError struct {
	Class ErrorClass
	Wait  time.Duration // how long the provider wants us to wait, 0 = not said
	Err   error
}

func (e *ModelError) Error() string { return "model call: " + string(e.Class) + ": " + e.Err.Error() }
func (e *ModelError) Unwrap() error { return e.Err }

// ModelClass returns the class of a failed model call, ModelNetwork for an error that carries none.
func ModelClass(err error) ErrorClass {
	var e *ModelError
	if errors.As(err, &e) {
		return e.Class
	}
	return ModelNetwork
}
