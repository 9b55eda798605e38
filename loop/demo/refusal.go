package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Refusal is a request that was refused, in the terms of the protocol.
type Refusal struct {
	Status              int
	Type, Code, Message string
}

func (r *Refusal) Error() string { return r.Message }

func refusal(status int, code, message string) *Refusal {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	return &Refusal{Status: status, Type: kind, Code: code, Message: message}
}

func badRequest(format string, args ...any) *Refusal {
	return refusal(http.StatusBadRequest, "", fmt.Sprintf(format, args...))
}

func tooLong(window, tokens int) *Refusal {
	return refusal(http.StatusBadRequest, "context_length_exceeded", fmt.Sprintf(
		"This model's maximum context length is %d tokens, but the messages have %d tokens.", window, tokens))
}

func asRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return badRequest("%v", err)
}

// body is the error as it goes over the wire.
func (r *Refusal) body() []byte {
	var code any
	if r.Code != "" {
		code = r.Code
	}
	raw, _ := json.Marshal(map[string]any{"error": map[string]any{ // strings always can be marshalled
		"message": r.Message, "type": r.Type, "param": nil, "code": code,
	}})
	return raw
}

func (r *Refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status)
	w.Write(r.body())
}
