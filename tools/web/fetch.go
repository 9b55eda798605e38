package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"code.dny.dev/ssrf"

	"github.com/talaria-agent/talaria/tools"
)

// userAgent says who asks, so that whoever runs a site can tell us apart.
const userAgent = "Mozilla/5.0 (compatible; Talaria; +https://github.com/talaria-agent/talaria)"

// fetched is what a server answered.
type fetched struct {
	url      *url.URL // where it was found, behind all redirects
	media    string   // its kind: text/html, application/pdf
	declared string   // the Content-Type header, which may name the character set
	body     []byte
	cut      bool // it is larger than maxBody; the body is its beginning
}

// statusError is an answer other than success.
type statusError struct{ code int }

func (e statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", e.code, http.StatusText(e.code)))
}

// fetch gets what is at an address that may be asked for.
func fetch(ctx context.Context, client *http.Client, u *url.URL) (fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fetched{}, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5")
	res, err := client.Do(req)
	if err != nil {
		return fetched{}, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fetched{}, statusError{res.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return fetched{}, err
	}
	f := fetched{url: res.Request.URL, declared: res.Header.Get("Content-Type"), body: body}
	if f.cut = len(body) > maxBody; f.cut {
		f.body = body[:maxBody]
	}
	f.media = mediaType(f.declared, f.body)
	return f, nil
}

// mediaType says what a body is. That it is text, or some other thing, shows in its beginning; what kind of text it is,
// the server knows better.
func mediaType(declared string, body []byte) string {
	found, _, _ := mime.ParseMediaType(http.DetectContentType(body))
	said, _, err := mime.ParseMediaType(declared)
	if isText(found) && err == nil && isText(said) {
		return said
	}
	return found
}

// isText tells whether a kind of content can be shown as text.
func isText(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml", "application/toml":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

// explain says why an address could not be fetched. An error is returned only if the context has ended.
func explain(ctx context.Context, u *url.URL, err error) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	forbidden := func(format string, args ...any) tools.Result {
		return tools.Result{Text: fmt.Sprintf(format, args...), Failed: true, Class: tools.FailPermission}
	}
	host := u.Hostname()
	var refused refusal
	var status statusError
	var lookup *net.DNSError
	var network net.Error
	var at *url.Error
	if errors.As(err, &at) { // what it says of itself repeats the address
		err = at.Err
	}
	switch {
	case errors.As(err, &refused) && at != nil:
		return forbidden("%s redirects to where it may not be followed. %s", host, refused), nil
	case errors.As(err, &refused):
		return forbidden("%s", refused), nil
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return forbidden("%s, or where it redirects to, is not on the public internet, so it is not fetched. The operator can allow single networks.", host), nil
	case errors.Is(err, errRedirects):
		return tools.Wrongf("%s redirects without an end.", host), nil
	case errors.As(err, &status):
		return tools.Wrongf("%s answers: %s.", host, status), nil
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return tools.Wrongf("There is no host %s, or where it redirects to.", host), nil
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return tools.Result{Text: fmt.Sprintf("%s did not send the page in %s.", host, fetchTimeout), Failed: true, Class: tools.FailTimeout}, nil
	case errors.As(err, &lookup):
		return tools.Result{Text: host + " could not be looked up.", Failed: true, Class: tools.FailUnreachable}, nil
	}
	return tools.Wrongf("%s could not be fetched: %v.", host, err), nil
}
