package platforms

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Download is the second half of a Fetch: it makes the request and copies the answer's body, of at most so many bytes. op
// names the call. accept may refuse an answer that is there; nil = any. The error is an *Error that holds no address,
// because those of files are as good as a password.
func Download(client *http.Client, r *http.Request, op string, into io.Writer, most int64, accept func(*http.Response) *Error) error {
	answer, err := client.Do(r)
	if err != nil {
		return &Error{Class: Transient, Op: op, Err: withoutAddress(err)}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return refusedDownload(op, answer)
	}
	if accept != nil {
		if refused := accept(answer); refused != nil {
			refused.Op = op
			return refused
		}
	}
	if answer.ContentLength > most {
		return &Error{Class: TooLong, Op: op}
	}
	n, err := io.Copy(into, io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return &Error{Class: Transient, Op: op, Err: withoutAddress(err)}
	case n > most:
		return &Error{Class: TooLong, Op: op}
	}
	return nil
}

// refusedDownload says what a status other than 200 means.
func refusedDownload(op string, answer *http.Response) *Error {
	e := &Error{Class: Invalid, Op: op, Err: fmt.Errorf("status %d", answer.StatusCode)}
	switch status := answer.StatusCode; {
	case status == http.StatusTooManyRequests:
		e.Class, e.Wait = RateLimited, time.Second
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
			e.Wait = time.Duration(seconds) * time.Second
		}
	case status == http.StatusNotFound || status == http.StatusGone:
		e.Class = Gone
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Class = Forbidden
	case status >= http.StatusInternalServerError:
		e.Class = Transient
	}
	return e
}

// withoutAddress takes the address out of an HTTP client's error.
func withoutAddress(err error) error {
	var inURL *url.Error
	for errors.As(err, &inURL) {
		err = inURL.Err
	}
	return err
}
