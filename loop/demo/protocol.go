package demo

import "net/http"

// protocol is one of the ways to talk to a model. All of them end in the same Request, in the words of chat
// completions, so that the same checks and the same scripts serve all three.
type protocol interface {
	// authorized tells whether a request carries the key, where the protocol wants it.
	authorized(r *http.Request, key string) bool
	// parse reads a request and refuses, with a *Refusal, what only this protocol refuses; Check does the rest.
	parse(body []byte) (Request, error)
	// cached returns how many bytes of the prompt the provider's cache knows, and how many it takes in now.
	cached(req Request) (known, written int)
	// refusal words an error.
	refusal(r *Refusal) object
	// voice returns what words an answer.
	voice(a *answering) voice
}

// voice words an answer, in the order of its methods. Each method but whole writes events of the stream; those with
// pieces return false if the client went away meanwhile.
type voice interface {
	begin(u Usage)
	alive() // a sign of life that says nothing
	reason(pieces []string) bool
	say(pieces []string) bool
	call(c Call)
	end(finish string, u Usage)
	fail(r *Refusal) // in place of the end
	// whole is the answer in one piece.
	whole(resp Response, u Usage) object
}

// object is a JSON object on its way out.
type object = map[string]any

// bearer tells whether a request carries the key as OpenAI wants it.
func bearer(r *http.Request, key string) bool { return r.Header.Get("Authorization") == "Bearer "+key }
