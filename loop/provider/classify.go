package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/loop"
)

const (
	statusOK   = http.StatusOK // an error that came inside a successful response
	maxMessage = 400           // bytes of a provider's message in an error
)

// MaxWait is the longest wait that is believed; a longer one is the provider's mistake, or ours about the clock.
const MaxWait = time.Hour

// ErrGarbled: a piece of a stream cannot be read; the class is loop.ModelNetwork.
var ErrGarbled = errors.New("the model sent something that cannot be read")

// complaint is what a provider says about a failure, in any of the shapes that are in use.
type complaint struct {
	Message, Type, Code string
	Status              int // the code, if it is the number of an HTTP status
}

// classify turns a response that is no reply into an error of the right class.
func classify(status int, header http.Header, body []byte) error {
	c, understood := readComplaint(body)
	if status == statusOK && c.Status != 0 {
		status = c.Status
	}
	failed := &loop.ModelError{Class: c.class(status), Wait: retryAfter(header, time.Now())}
	what := c.Message
	switch {
	case !understood && status == statusOK:
		failed.Class = loop.ModelBadRequest
		what = "the address answered with something that is no completion; is the base URL right?"
	case !understood && (status == http.StatusNotFound || status < 400):
		what = "nothing answers there; is the base URL right?"
	case what == "":
		what = strings.TrimSpace(c.Type + " " + c.Code)
	}
	if what == "" {
		what = "the provider did not say why"
	}
	failed.Err = fmt.Errorf("%s (status %d)", clip(what), status)
	return failed
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// readComplaint reads OpenAI's shape, and those of Gemini (a list), FastAPI ("detail") and of servers that put a bare
// string or no envelope. It reports false for anything else, such as a page of a proxy.
func readComplaint(body []byte) (complaint, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return complaint{}, false
	}
	inner := first(envelope.Error, envelope.Detail)
	if inner == nil {
		inner = body
	}
	var s string
	if json.Unmarshal(inner, &s) == nil {
		return complaint{Message: s}, true
	}
	var fields struct {
		Message any `json:"message"`
		Type    any `json:"type"`
		Code    any `json:"code"`
		Status  any `json:"status"` // Gemini's name of the code
	}
	if json.Unmarshal(inner, &fields) != nil {
		return complaint{Message: string(inner)}, true
	}
	c := complaint{Message: word(fields.Message), Type: word(fields.Type), Code: word(fields.Code)}
	if n, err := strconv.Atoi(c.Code); err == nil && n >= 400 && n <= 599 {
		c.Status = n
		c.Code = word(fields.Status)
	}
	return c, c != complaint{}
}

func word(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// evidence is a row of the table by which failures are classified. Its statuses are proof enough, and so are its
// phrases, where the status is below the bound.
type evidence struct {
	class    loop.ErrorClass
	statuses []int
	below    int // bound of the statuses with which the phrases count
	phrases  []string
}

const (
	anyStatus  = 1000
	notFailing = 500          // a failing server may speak of anything
	inAnswer   = statusOK + 1 // where the status says nothing
)

// table is what OpenAI, Anthropic, Gemini, vLLM, llama.cpp, Ollama, OpenRouter, DeepSeek and Mistral answer. The first
// row that fits decides. What the words say goes before what the status says: providers use 400, 413 and 429 alike for a
// prompt that is too long, and 429 for an empty account. The phrases are lower-case.
func table() []evidence {
	return []evidence{
		{loop.ModelTooLong, []int{http.StatusRequestEntityTooLarge}, notFailing, []string{
			"context_length_exceeded", "context length", "context window", "maximum context", "context size",
			"prompt is too long", "input is too long", "prompt too long", "request too large", "too many tokens",
			"input token count", "maximum number of tokens", "exceeds the model's maximum", "reduce the length",
			"string_above_max_length", "exceed_context_size", "request_too_large",
		}},
		{loop.ModelQuota, []int{http.StatusPaymentRequired}, notFailing, []string{
			"insufficient_quota", "insufficient balance", "insufficient credits", "exceeded your current quota",
			"billing_hard_limit", "billing hard limit", "billing_error", "credit balance", "out of credits", "payment required",
		}},
		{loop.ModelFiltered, nil, notFailing, []string{
			"content_filter", "content_policy_violation", "content management policy", "content filtering policy",
			"safety system", "violating our usage policy",
		}},
		{loop.ModelRateLimited, []int{http.StatusTooManyRequests}, anyStatus, []string{
			"rate_limit", "rate limit", "resource_exhausted",
		}},
		{loop.ModelAuth, []int{http.StatusUnauthorized, http.StatusForbidden}, inAnswer, []string{
			"invalid_api_key", "authentication", "permission_error",
		}},
		{loop.ModelNetwork, []int{http.StatusRequestTimeout}, 0, nil},
		{loop.ModelOverloaded, []int{http.StatusConflict, http.StatusTooEarly}, anyStatus, []string{
			"overloaded", "server_error", "api_error",
		}},
		{loop.ModelBadRequest, nil, inAnswer, []string{
			"invalid_request", "invalid_prompt", "not_found_error", "invalid_encrypted_content",
		}},
	}
}

// class says what a complaint means for the loop.
func (c complaint) class(status int) loop.ErrorClass {
	said := strings.ToLower(c.Message + " " + c.Type + " " + c.Code)
	says := func(phrase string) bool { return strings.Contains(said, phrase) }
	for _, e := range table() {
		if slices.Contains(e.statuses, status) || status < e.below && slices.ContainsFunc(e.phrases, says) {
			return e.class
		}
	}
	if status >= 500 || status == statusOK { // in an answer: it broke off in the middle and does not say why
		return loop.ModelOverloaded
	}
	return loop.ModelBadRequest
}

// retryAfter reads how long a provider wants us to wait: RFC 9110 has seconds and a date, OpenAI adds milliseconds.
func retryAfter(header http.Header, now time.Time) time.Duration {
	var wait time.Duration
	value := header.Get("Retry-After")
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		wait = time.Duration(min(ms, float64(MaxWait.Milliseconds())) * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		wait = time.Duration(min(s, MaxWait.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), MaxWait)
}

// first returns the first value that is neither missing nor null.
func first(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if len(v) > 0 && !bytes.Equal(v, []byte("null")) {
			return v
		}
	}
	return nil
}

// Network returns an error of a connection that failed.
func Network(err error) *loop.ModelError { return &loop.ModelError{Class: loop.ModelNetwork, Err: err} }

// BadRequest returns an error of a request that cannot succeed.
func BadRequest(format string, args ...any) *loop.ModelError {
	return &loop.ModelError{Class: loop.ModelBadRequest, Err: fmt.Errorf(format, args...)}
}

// Failed classifies an error that a provider reports as part of its answer. If it says nothing, it broke off.
func Failed(raw []byte) error {
	if _, understood := readComplaint(raw); !understood {
		return &loop.ModelError{Class: loop.ModelOverloaded, Err: ErrCut}
	}
	return classify(statusOK, nil, raw)
}
