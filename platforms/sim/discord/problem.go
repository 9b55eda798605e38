package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// problem is a refusal in the API's shape: an HTTP status, a JSON error code and, for a form that does not fit, the
// fields at fault.
type problem struct {
	status  int
	code    int
	message string
	fields  []fieldError
}

// fieldError is what is wrong with one field; path is dotted: "components.0.components.1.label".
type fieldError struct{ path, code, message string }

func (p *problem) Error() string { return fmt.Sprintf("%d %s (%d)", p.status, p.message, p.code) }

// The refusals that need no detail.
var (
	errUnauthorized       = &problem{status: 401, code: 0, message: "401: Unauthorized"}
	errNotFound           = &problem{status: 404, code: 0, message: "404: Not Found"}
	errUnknownApplication = &problem{status: 404, code: 10002, message: "Unknown Application"}
	errUnknownChannel     = &problem{status: 404, code: 10003, message: "Unknown Channel"}
	errUnknownMessage     = &problem{status: 404, code: 10008, message: "Unknown Message"}
	errUnknownMember      = &problem{status: 404, code: 10007, message: "Unknown Member"}
	errUnknownEmoji       = &problem{status: 400, code: 10014, message: "Unknown Emoji"}
	errUnknownInteraction = &problem{status: 404, code: 10062, message: "Unknown interaction"}
	errTooLarge           = &problem{status: 413, code: 40005, message: "Request entity too large"}
	errAcknowledged       = &problem{status: 400, code: 40060, message: "Interaction has already been acknowledged."}
	errMissingAccess      = &problem{status: 403, code: 50001, message: "Missing Access"}
	errNotYours           = &problem{status: 403, code: 50005, message: "Cannot edit a message authored by another user"}
	errEmptyMessage       = &problem{status: 400, code: 50006, message: "Cannot send an empty message"}
	errCannotMessageUser  = &problem{status: 403, code: 50007, message: "Cannot send messages to this user"}
	errNotText            = &problem{status: 400, code: 50008, message: "Cannot send messages in a non-text channel"}
	errMissingPermission  = &problem{status: 403, code: 50013, message: "Missing Permissions"}
	errArchived           = &problem{status: 400, code: 50083, message: "Thread is archived"}
	errInvalidJSON        = &problem{status: 400, code: 50109, message: "The request body contains invalid JSON."}
	errThreadExists       = &problem{status: 400, code: 160004, message: "A thread has already been created for this message"}
	errThreadLocked       = &problem{status: 400, code: 160005, message: "This thread is locked"}
)

// invalidForm is error 50035 over the given fields.
func invalidForm(fields ...fieldError) *problem {
	return &problem{status: http.StatusBadRequest, code: 50035, message: "Invalid Form Body", fields: fields}
}

func tooLong(path string, limit int) fieldError {
	return fieldError{path, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", limit)}
}

func badLength(path string, low, high int) fieldError {
	return fieldError{path, "BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between %d and %d in length.", low, high)}
}

func required(path string) fieldError {
	return fieldError{path, "BASE_TYPE_REQUIRED", "This field is required"}
}

func badChoice(path, message string) fieldError {
	return fieldError{path, "BASE_TYPE_CHOICES", message}
}

// body nests the field errors as the API does.
func (p *problem) body() object {
	o := object{"message": p.message, "code": p.code}
	if len(p.fields) == 0 {
		return o
	}
	errors := object{}
	for _, f := range p.fields {
		at := errors
		for _, step := range strings.Split(f.path, ".") {
			next, ok := at[step].(object)
			if !ok {
				next = object{}
				at[step] = next
			}
			at = next
		}
		said, _ := at["_errors"].([]object)
		at["_errors"] = append(said, object{"code": f.code, "message": f.message})
	}
	o["errors"] = errors
	return o
}

func answer(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone; nobody is left to tell
}
