package telegram

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// maxBody is the largest request that is read; real servers allow 50 MB for uploads, which are not simulated.
const maxBody = 1 << 20

// params are the fields of one request. Whatever the encoding, a value is text, and objects are JSON, as in a form.
type params map[string]string

func (p params) integer(name string) (int64, bool) {
	n, err := strconv.ParseInt(p[name], 10, 64)
	return n, err == nil
}

func (p params) yes(name string) bool {
	v := strings.ToLower(p[name])
	return v == "true" || v == "yes" || v == "1"
}

// refusal is an answer of the API that is not ok.
type refusal struct {
	code        int
	description string
	retryAfter  int   // seconds, with code 429
	migratedTo  int64 // the chat's new id
}

func (r *refusal) Error() string { return r.description }

func badRequest(format string, args ...any) *refusal {
	return &refusal{code: http.StatusBadRequest, description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

// method handles one Bot API method; the result becomes JSON. It is called without the mutex.
type method func(s *Server, r *http.Request, p params) (any, *refusal)

// methods maps lower-case names to methods: the Bot API ignores case in them.
func methods() map[string]method {
	return map[string]method{
		"getme":                  (*Server).getMe,
		"getfile":                (*Server).getFile,
		"getupdates":             (*Server).getUpdates,
		"getwebhookinfo":         (*Server).getWebhookInfo,
		"sendmessage":            (*Server).sendMessage,
		"editmessagetext":        (*Server).editMessageText,
		"editmessagereplymarkup": (*Server).editMessageReplyMarkup,
		"deletemessage":          (*Server).deleteMessage,
		"sendchataction":         (*Server).sendChatAction,
		"sendmessagedraft":       (*Server).sendMessageDraft,
		"answercallbackquery":    (*Server).answerCallbackQuery,
		"setmycommands":          (*Server).setMyCommands,
		"setmessagereaction":     (*Server).setMessageReaction,
	}
}

// serve answers one request: /bot<token>/<method>.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/file/") {
		s.serveFile(w, r)
		return
	}
	token, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || !strings.HasPrefix(r.URL.Path, "/bot") {
		answer(w, nil, &refusal{code: http.StatusNotFound, description: "Not Found"})
		return
	}
	if token != s.opts.Token {
		answer(w, nil, &refusal{code: http.StatusUnauthorized, description: "Unauthorized"})
		return
	}
	p, err := readParams(w, r)
	if err != nil {
		answer(w, nil, badRequest("can't parse request: %v", err))
		return
	}
	fault, faulty := s.faults.Take(name, p["chat_id"])
	if faulty && s.fail(w, r, fault) {
		return
	}
	refused := s.checkOfficial(name, p)
	handle, ok := s.methods[strings.ToLower(name)]
	if !ok {
		refused = &refusal{code: http.StatusNotFound, description: "Not Found: method not found"}
	}
	var result any
	if refused == nil {
		result, refused = handle(s, r, p)
	}
	if faulty && fault.Lose {
		sim.CutConnection()
	}
	answer(w, result, refused)
}

// fail does what a fault says before the call is handled, and tells whether the call is over with that.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, f sim.Fault) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	switch {
	case f.Cut:
		sim.CutConnection()
	case f.Status != 0 && f.HTML:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = fmt.Fprintf(w, "<html><head><title>%d %s</title></head></html>", f.Status, http.StatusText(f.Status))
		return true
	case f.Status != 0:
		refused := &refusal{code: f.Status, description: f.Error, retryAfter: int(f.RetryAfter.Seconds())}
		if f.Status == http.StatusTooManyRequests {
			refused = tooManyRequests(f.RetryAfter)
		} else if f.Error == "" {
			refused.description = http.StatusText(f.Status)
		}
		answer(w, nil, refused)
		return true
	}
	return false
}

// checkOfficial holds a request against the official description, if there is one.
func (s *Server) checkOfficial(name string, p params) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.official == nil {
		return nil
	}
	request := map[string]any{}
	for k, v := range p {
		request[k] = v
	}
	problems := s.official.Check(name, request, true, nil)
	if len(problems) == 0 {
		return nil
	}
	s.violations = append(s.violations, problems...)
	return badRequest("%s", strings.Join(problems, "; "))
}

// readParams reads the query and a form or JSON body.
func readParams(w http.ResponseWriter, r *http.Request) (params, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	p := params{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		var fields map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil && err != io.EOF {
			return nil, err
		}
		for name, raw := range fields {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			p[name] = text
		}
		return p, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	for name, values := range r.Form {
		p[name] = values[0]
	}
	return p, nil
}

// answer writes a response in the shape of the Bot API.
func answer(w http.ResponseWriter, result any, refused *refusal) {
	body := map[string]any{"ok": refused == nil}
	status := http.StatusOK
	if refused == nil {
		body["result"] = result
	} else {
		status = refused.code
		body["error_code"], body["description"] = refused.code, refused.description
		if refused.retryAfter > 0 {
			body["parameters"] = map[string]any{"retry_after": refused.retryAfter}
		} else if refused.migratedTo != 0 {
			body["parameters"] = map[string]any{"migrate_to_chat_id": refused.migratedTo}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
