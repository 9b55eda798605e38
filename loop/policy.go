package loop

import "time"

// remedy says what is done about a failed model call. What is true in it is tried in the order of the fields, each as
// often as its comment says; then the turn ends with the sentence of its class.
type remedy struct {
	reload  bool // load the credentials again, once a turn and model
	shorten bool // compress the history, once a turn
	again   bool // wait and make the same call again, Limits.RetryModel tries in all
	flatten bool // turn tool calls and opaque parts of the history into plain text, once a turn and model
	next    bool // ask the next model of the chain, each once a turn; before flatten if the class is a retryable one

	rest time.Duration // how long other turns pass over a model that was given up, at least
}

// policy is the one table of what a failed model call leads to.
//
// Overloaded leads to flatten, too, because some servers answer 500 to a history that holds something they cannot read;
// and a bad request leads to the next model, because it may be the model's name that is refused. What stays too long for one
// model may fit into the window of the next.
var policy = map[ErrorClass]remedy{
	ModelRateLimited: {again: true, next: true, rest: time.Minute},
	ModelOverloaded:  {again: true, next: true, flatten: true, rest: 5 * time.Minute},
	ModelNetwork:     {again: true, next: true, rest: 5 * time.Minute},
	ModelTooLong:     {shorten: true, next: true},
	ModelBadRequest:  {flatten: true, next: true},
	ModelAuth:        {reload: true, next: true, rest: time.Hour},
	ModelQuota:       {next: true, rest: time.Hour},
	ModelFiltered:    {},
}

// Retryable tells whether the same call may succeed later.
func (c ErrorClass) Retryable() bool { return policy[c].again }
