// Package demo is a model without intelligence: an HTTP server that speaks the chat completions protocol and answers by
// simple rules, so that everything around a model can be seen and tested without an account.
//
// It is as strict as the strictest of the servers that it stands for: Check refuses every conversation that any of them
// would refuse. With NewScripted, tests say themselves what it answers, failures included, behind the same checks.
// It answers each request on its own goroutine, in the order of the stream, and starts none; a request that waits ends
// with its client. It calls only tools that the request declares, and never pretends to have understood anything.
package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
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
}

// Server is a model behind HTTP: POST /v1/chat/completions, with and without streaming, and GET /v1/models.
type Server struct {
	options Options
	answer  func(Request) Response
	refused func(error) // told about each request that was refused; nil = nobody
	cache   prefixes
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
	s := &Server{options: options, answer: answer, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.mux.HandleFunc("GET /v1/models", s.models)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.options.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+s.options.APIKey {
		refusal(http.StatusUnauthorized, "invalid_api_key", "the API key is wrong or missing").write(w)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": ModelName, "object": "model", "created": 0, "owned_by": "talaria"}},
	})
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		badRequest("the content type must be application/json").write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refusal(http.StatusRequestEntityTooLarge, "request_too_large", "the request could not be read: "+err.Error()).write(w)
		return
	}
	req, err := Parse(body)
	if err == nil {
		err = Check(req)
	}
	if err == nil && s.options.Window > 0 && req.Tokens() > s.options.Window {
		err = tooLong(s.options.Window, req.Tokens())
	}
	if err != nil {
		if s.refused != nil {
			s.refused(err)
		}
		asRefusal(err).write(w)
		return
	}
	cached := s.cache.seen(req.prefix())
	a := &answering{w: w, ctx: r.Context(), req: req, cached: cached, delay: s.options.Delay}
	a.send(s.answer(req))
}
