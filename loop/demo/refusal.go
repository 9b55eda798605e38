package demo

import (
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

// codeTooLong is OpenAI's name for a conversation that is too long.
const codeTooLong = "context_length_exceeded"

func tooLong(window, tokens int) *Refusal {
	return refusal(http.StatusBadRequest, codeTooLong, fmt.Sprintf(
		"This model's maximum context length is %d tokens, but the messages have %d tokens.", window, tokens))
}

func asRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return badRequest("%v", err)
}

// openAI words the error as OpenAI does.
func (r *Refusal) openAI() object {
	var code any
	if r.Code != "" {
		code = r.Code
	}
	return object{"error": object{"message": r.Message, "type": r.Type, "param": nil, "code": code}}
}
