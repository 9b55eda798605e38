package slack

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// call is one request to the Web API.
type call struct {
	method string
	token  string
	args   url.Values
	host   string // scheme and host under which the client knows us, for URLs in answers
}

func (c *call) arg(name string) string { return c.args.Get(name) }

// chat is the conversation that a call is about, if it names one.
func (c *call) chat() string {
	if id := c.arg("channel"); id != "" {
		return id
	}
	return c.arg("channel_id")
}

// refusal is a failed call: Slack's error code, and what response_metadata says about it.
type refusal struct {
	code     string
	messages []string
	needed   string // with missing_scope
}

func refuse(code string, messages ...string) *refusal {
	return &refusal{code: code, messages: messages}
}

type method func(*Server, *call) (object, *refusal)

func methods() map[string]method {
	return map[string]method{
		"auth.test":                   (*Server).authTest,
		"apps.connections.open":       (*Server).connectionsOpen,
		"assistant.threads.setStatus": (*Server).setStatus,
		"chat.delete":                 (*Server).chatDelete,
		"chat.postEphemeral":          (*Server).postEphemeral,
		"chat.postMessage":            (*Server).postMessage,
		"chat.update":                 (*Server).chatUpdate,
		"conversations.history":       (*Server).history,
		"conversations.info":          (*Server).conversationInfo,
		"conversations.open":          (*Server).conversationOpen,
		"conversations.replies":       (*Server).threadReplies,
		"files.info":                  (*Server).fileInfo,
		"reactions.add":               (*Server).reactionAdd,
		"users.info":                  (*Server).userInfo,
	}
}

// serveMethod answers a call: faults first, then rates, tokens, the description, and the method itself.
func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request) {
	c, err := readCall(r)
	if err != nil {
		s.reply(w, nil, refuse("invalid_form_data"))
		return
	}
	fault, faulty := s.faults.Take(c.method, c.chat())
	if fault.Delay > 0 && !pause(r, fault.Delay) {
		sim.CutConnection()
	}
	if fault.Cut {
		sim.CutConnection()
	}
	if faulty && (fault.Status != 0 || fault.Error != "") {
		answerFault(w, fault)
		return
	}
	if wait := s.tooFast(c); wait > 0 {
		answerFault(w, sim.Fault{Status: http.StatusTooManyRequests, RetryAfter: wait})
		return
	}
	result, no := s.perform(c)
	if fault.Lose {
		sim.CutConnection()
	}
	s.reply(w, result, no)
}

func (s *Server) perform(c *call) (object, *refusal) {
	run, ok := methods()[c.method]
	if !ok {
		return nil, refuse("unknown_method")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if code := s.checkToken(c); code != "" {
		return nil, refuse(code)
	}
	if scope := s.lacks(c); scope != "" {
		return nil, &refusal{code: "missing_scope", needed: scope}
	}
	if s.spec != nil {
		request := map[string]any{"token": c.token}
		for name := range c.args {
			request[name] = c.arg(name)
		}
		if problems := s.spec.Check(c.method, request, true, s.newer); len(problems) > 0 {
			s.violations = append(s.violations, problems...)
			return nil, refuse("invalid_arguments", problems...)
		}
	}
	return run(s, c)
}

func (s *Server) checkToken(c *call) string {
	want, other := s.cfg.BotToken, s.cfg.AppToken
	if c.method == "apps.connections.open" {
		want, other = other, want
	}
	switch c.token {
	case want:
		if s.revoked {
			return "token_revoked"
		}
		return ""
	case "":
		return "not_authed"
	case other:
		return "not_allowed_token_type"
	default:
		return "invalid_auth"
	}
}

// readCall takes the arguments from a form, a JSON body or the query, and the token from wherever it stands.
func readCall(r *http.Request) (*call, error) {
	c := &call{method: r.PathValue("method"), args: url.Values{}, host: "http://" + r.Host}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		c.host = "https://" + r.Host
	}
	r.Body = http.MaxBytesReader(nil, r.Body, 4<<20)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if err := c.readJSON(body); err != nil {
			return nil, err
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		c.args = r.Form
	}
	c.token = c.arg("token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c.token = bearer
	}
	return c, nil
}

func (c *call) readJSON(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for name, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		c.args.Set(name, s)
	}
	return nil
}

// reply writes Slack's envelope: status 200, ok, and an error code if it is not.
func (s *Server) reply(w http.ResponseWriter, result object, no *refusal) {
	s.mu.Lock()
	scopes := s.cfg.Scopes
	s.mu.Unlock()
	if result == nil {
		result = object{}
	}
	result["ok"] = no == nil
	if no != nil {
		result["error"] = no.code
		if no.needed != "" {
			result["needed"], result["provided"] = no.needed, scopes
		}
		if len(no.messages) > 0 {
			result["errors"] = no.messages
			result["response_metadata"] = object{"messages": no.messages}
		}
	}
	w.Header().Set("X-OAuth-Scopes", scopes)
	writeJSON(w, http.StatusOK, result)
}

func answerFault(w http.ResponseWriter, f sim.Fault) {
	if f.HTML {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, "<html><body><h1>Server Error</h1></body></html>")
		return
	}
	code, status := f.Error, f.Status
	if status == 0 {
		status = http.StatusOK
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		if code == "" {
			code = "ratelimited"
		}
	}
	if code == "" {
		code = "internal_error"
	}
	writeJSON(w, status, object{"ok": false, "error": code})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// pause waits, and tells whether the client is still there afterwards.
func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *Server) authTest(*call) (object, *refusal) {
	return object{
		"url": "https://olympus.slack.com/", "team": s.cfg.TeamName, "team_id": s.cfg.Team,
		"user": s.cfg.BotName, "user_id": s.cfg.BotUser, "bot_id": botID, "is_enterprise_install": false,
	}, nil
}

func (s *Server) connectionsOpen(c *call) (object, *refusal) {
	return object{"url": s.hub.ticket(c.host)}, nil
}
