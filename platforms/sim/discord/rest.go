package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

const maxRequest = 25 << 20 // bytes of one request

// newer lists what the description of version 10 does not have, with its source.
var newer = spec.Newer{}

// call is one request to the API, decoded. handle runs it under the server's lock.
type call struct {
	*http.Request
	route string // "POST /channels/messages"
	place *place // of the channel in the path
	body  any    // decoded JSON; nil without a body
}

// form returns the body as an object.
func (c *call) form() object {
	o, _ := c.body.(object)
	return o
}

// handle answers one call: a status and a body (nil = none), or a *problem.
type handle func(c *call) (status int, body any, err error)

// routes builds the API's routes. The lock is held while a handler runs; none of them waits.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	on := func(pattern, route string, h handle) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v9"+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route, h) })
	}
	on("GET /gateway", "GET /gateway", s.getGateway)
	on("GET /gateway/bot", "GET /gateway/bot", s.getGatewayBot)
	on("GET /users/@me", "GET /users/@me", s.getMe)
	on("GET /users/@me/guilds", "GET /users/@me/guilds", s.getGuilds)
	on("GET /applications/@me", "GET /applications/@me", s.getApplication)
	on("GET /oauth2/applications/@me", "GET /oauth2/applications/@me", s.getApplication)
	on("POST /users/@me/channels", "POST /users/@me/channels", s.openDM)
	on("GET /guilds/{guild}/members/{user}", "GET /guilds/members", s.getMember)
	on("GET /channels/{channel}", "GET /channels", s.getChannel)
	on("POST /channels/{channel}/typing", "POST /channels/typing", s.startTyping)
	on("GET /channels/{channel}/messages", "GET /channels/messages", s.listMessages)
	on("POST /channels/{channel}/messages", "POST /channels/messages", s.createMessage)
	on("GET /channels/{channel}/messages/{message}", "GET /channels/messages", s.getMessage)
	on("PATCH /channels/{channel}/messages/{message}", "PATCH /channels/messages", s.editMessage)
	on("DELETE /channels/{channel}/messages/{message}", "DELETE /channels/messages", s.deleteMessage)
	on("PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", "PUT /channels/messages/reactions", s.react)
	on("POST /channels/{channel}/threads", "POST /channels/threads", s.createThread)
	on("POST /channels/{channel}/messages/{message}/threads", "POST /channels/messages/threads", s.createThread)
	on("POST /interactions/{interaction}/{token}/callback", "POST /interactions/callback", s.respond)
	on("GET /applications/{application}/commands", "GET /applications/commands", s.getCommands)
	on("PUT /applications/{application}/commands", "PUT /applications/commands", s.putCommands)
	mux.HandleFunc("GET /attachments/{channel}/{message}/{name}", s.serveFile)
	mux.HandleFunc("/gateway/", s.connect)
	mux.HandleFunc("/resume/", s.connect)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNotFound, errNotFound.body()) })
	return mux
}

// serve runs one call with all that surrounds it: faults, the token, rate limits, the description, the lock.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route string, h handle) {
	c := &call{Request: r, route: route}
	s.seen(r)
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		s.refuse(w, errTooLarge)
		return
	}
	fault, faulty := s.faults.Take(route, s.chatOf(r.PathValue("channel")))
	if faulty && !s.suffer(w, r, fault) {
		return
	}
	s.mu.Lock()
	over := s.limits.admit(w.Header(), route, r.PathValue("channel"))
	s.mu.Unlock()
	if over != nil {
		s.count(http.StatusTooManyRequests)
		refuseExcess(w, *over)
		return
	}
	status, body, err := s.run(c, raw, h)
	if fault.Lose {
		sim.CutConnection()
	}
	if p := (*problem)(nil); errors.As(err, &p) {
		s.refuse(w, p)
		return
	}
	answer(w, status, body)
}

// run checks the call and runs its handler, under the lock.
func (s *Server) run(c *call, raw []byte, h handle) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.route != "GET /gateway" && c.route != "POST /interactions/callback" && !s.authorized(c.Header.Get("Authorization")) {
		return 0, nil, errUnauthorized
	}
	if len(raw) > 0 {
		if !strings.HasPrefix(c.Header.Get("Content-Type"), "application/json") || json.Unmarshal(raw, &c.body) != nil {
			return 0, nil, errInvalidJSON
		}
	}
	if p := s.describe(c); p != nil {
		return 0, nil, p
	}
	if id := c.PathValue("channel"); id != "" {
		if c.place = s.places[id]; c.place == nil {
			return 0, nil, unknown("channel_id", id, errUnknownChannel)
		}
		if c.place.shut && c.place.kind != typeDM {
			return 0, nil, errMissingAccess
		}
		if p := s.forbids(c); p != nil {
			return 0, nil, p
		}
	}
	return h(c)
}

// unknown is the refusal of an id that leads nowhere: it depends on whether it could be one.
func unknown(field, id string, gone *problem) *problem {
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return invalidForm(fieldError{field, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", id)})
	}
	return gone
}

func (s *Server) authorized(header string) bool {
	token, ok := strings.CutPrefix(header, "Bot ")
	return ok && s.tokenFits(token)
}

func (s *Server) tokenFits(token string) bool {
	return token != "" && (s.opts.Token == "" || token == s.opts.Token)
}

// describe holds a request against the official description, if there is one.
func (s *Server) describe(c *call) *problem {
	if s.check == nil {
		return nil
	}
	var found []string
	switch body := c.body.(type) {
	case []any:
		for _, item := range body {
			o, _ := item.(object)
			found = append(found, s.check.Check(c.route, o, false, newer)...)
		}
	default:
		values, form := c.form(), false
		if c.Method == http.MethodGet {
			values, form = object{}, true
			for k, v := range c.URL.Query() {
				values[k] = v[0]
			}
		}
		found = s.check.Check(c.route, values, form, newer)
	}
	if len(found) == 0 {
		return nil
	}
	s.violations = append(s.violations, found...)
	var fields []fieldError
	for _, f := range found {
		fields = append(fields, fieldError{"request", "API_DESCRIPTION", f})
	}
	return invalidForm(fields...)
}

func (s *Server) chatOf(channel string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.places[channel]; p != nil {
		return p.chat()
	}
	return channel
}

func (s *Server) count(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.answered(status)
}

func (s *Server) refuse(w http.ResponseWriter, p *problem) {
	s.count(p.status)
	answer(w, p.status, p.body())
}

// suffer applies the part of a fault that comes before the call is handled; false if that was the answer.
func (s *Server) suffer(w http.ResponseWriter, r *http.Request, f sim.Fault) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return false
		}
	}
	switch {
	case f.Cut:
		sim.CutConnection()
	case f.Status == 0:
		return true
	case f.HTML:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = fmt.Fprintf(w, "<html><head><title>%d</title></head><body>cloudflare</body></html>", f.Status)
	case f.Status == http.StatusTooManyRequests:
		refuseExcess(w, excess{wait: f.RetryAfter, global: f.Error == "global"})
	default:
		s.refuse(w, usualProblem(f))
	}
	return false
}

// usualProblem is the refusal that a fault asks for. Error is a JSON error code, alone or before a message.
func usualProblem(f sim.Fault) *problem {
	p := &problem{status: f.Status, message: strconv.Itoa(f.Status) + ": " + http.StatusText(f.Status)}
	switch f.Status {
	case http.StatusForbidden:
		p = errMissingPermission
	case http.StatusUnauthorized:
		p = errUnauthorized
	}
	if f.Error == "" {
		return p
	}
	code, message, _ := strings.Cut(f.Error, " ")
	n, err := strconv.Atoi(code)
	if err != nil {
		return &problem{status: f.Status, message: f.Error}
	}
	if message == "" {
		message = "Error " + code
	}
	return &problem{status: f.Status, code: n, message: message}
}
