// Package demo is a model without intelligence: an HTTP server that speaks the protocols of chat completions, Responses
// and Messages and answers by simple rules, so that everything around a model can be seen and tested without an account.
//
// It is as strict as the strictest of the servers that it stands for: Check refuses every conversation that any of them
// would refuse. With NewScripted, tests say themselves what it answers, failures included, behind the same checks.
// It answers each request on its own goroutine, in the order of the stream, and starts none; a request that waits ends
// with its client. It calls only tools that the request declares, and never pretends to have understood anything.
package demo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
)

// ModelName is the name under which the demonstration model answers.
const ModelName = "talaria-demo"

// DefaultDelay is the pause between two words, which makes streaming visible.
const DefaultDelay = 15 * time.Millisecond

// maxBody is the largest request that is read.
const maxBody = 32 << 20

// Options change how the model behaves.
type Options struct {
	Window int           // tokens that a request may have, 0 = any number
	Delay  time.Duration // between two words; 0 = DefaultDelay, negative = none
	APIKey string        // that requests must carry; empty = none

	Reasoning ReasoningStyle // of chat completions
}

// Server is a model behind HTTP: POST /v1/chat/completions, /v1/responses and /v1/messages, with and without streaming,
// and GET /v1/models.
type Server struct {
	options Options
	answer  func(Request) Response
	refused func(error) // told about each request that was refused; nil = nobody
	secret  string      // that reasoning is signed with
	cache   prefixes    // of the protocols that cache by themselves
	marked  breakpoints // of the one that has to be told
	known   []loop.Profile
	mux     *http.ServeMux
}

// New returns the demonstration model. Suggestions names some of what it understands.
func New(options Options) *Server {
	return newServer(options, newPlanner().answer)
}

func newServer(options Options, answer func(Request) Response) *Server {
	switch {
	case options.Delay == 0:
		options.Delay = DefaultDelay
	case options.Delay < 0:
		options.Delay = 0
	}
	known, err := loop.BuiltinProfiles()
	if err != nil {
		panic(err) // part of the program
	}
	s := &Server{known: known, options: options, answer: answer, secret: rand.Text(), mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", s.serve(chat{s}))
	s.mux.HandleFunc("POST /v1/responses", s.serve(responses{s}))
	s.mux.HandleFunc("POST /v1/messages", s.serve(messages{s}))
	s.mux.HandleFunc("GET /v1/models", s.models)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// reasoning returns how a model is told how much to think.
func (s *Server) reasoning(model string) loop.Reasoning {
	return loop.FindProfile(model, s.known).Reasoning
}

// checkEffort refuses an effort that a model of OpenAI does not take.
func (s *Server) checkEffort(model, field, effort string) error {
	switch {
	case effort == "":
	case s.reasoning(model) != loop.ReasoningEffort:
		return refusal(http.StatusBadRequest, "unsupported_parameter", "Unsupported parameter: '"+field+"' is not supported with this model.")
	case !slices.Contains([]string{"minimal", "low", "medium", "high"}, effort):
		return refusal(http.StatusBadRequest, "unsupported_value", "Unsupported value: '"+field+"' does not support '"+effort+"' with this model.")
	}
	return nil
}

// seal signs reasoning, so that the server knows it again. Nobody else's signature is valid.
func (s *Server) seal(reasoning string) string {
	sum := sha256.Sum256([]byte(s.secret + reasoning))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	var p protocol = chat{s}
	if r.Header.Get("Anthropic-Version") != "" { // the two makers have the list at the same address
		p = messages{s}
	}
	if s.options.APIKey != "" && !p.authorized(r, s.options.APIKey) {
		refuse(w, p, wrongKey())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Anthropic-Version") != "" {
		json.NewEncoder(w).Encode(map[string]any{
			"data":     []any{map[string]any{"id": ModelName, "type": "model", "created_at": "2026-01-01T00:00:00Z", "display_name": ModelName}},
			"first_id": ModelName, "last_id": ModelName, "has_more": false,
		})
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": ModelName, "object": "model", "created": 0, "owned_by": "talaria"}},
	})
}

func wrongKey() *Refusal {
	return refusal(http.StatusUnauthorized, "invalid_api_key", "the API key is wrong or missing")
}

// serve returns the handler of a protocol's endpoint.
func (s *Server) serve(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := s.read(w, r, p)
		if err != nil {
			if s.refused != nil {
				s.refused(err)
			}
			refuse(w, p, asRefusal(err))
			return
		}
		a := &answering{w: w, ctx: r.Context(), protocol: p, req: req, delay: s.options.Delay}
		a.known, a.created = p.cached(req)
		a.send(s.answer(req))
	}
}

// read reads a request and checks it.
func (s *Server) read(w http.ResponseWriter, r *http.Request, p protocol) (Request, error) {
	if s.options.APIKey != "" && !p.authorized(r, s.options.APIKey) {
		return Request{}, wrongKey()
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		return Request{}, badRequest("the content type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return Request{}, refusal(http.StatusRequestEntityTooLarge, "request_too_large", fmt.Sprintf("the request has more than %d bytes", tooLarge.Limit))
	}
	if err != nil { // the client has gone away in the middle of it; there is nobody to refuse
		panic(http.ErrAbortHandler)
	}
	req, err := p.parse(body)
	if err == nil {
		err = Check(req)
	}
	if err == nil && s.options.Window > 0 && req.Tokens() > s.options.Window {
		err = tooLong(s.options.Window, req.Tokens())
	}
	return req, err
}
