package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/http/httpguts"
)

// usual are the variables of the environment that every program needs, and none of which is a secret.
var usual = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR", "TZ"}

// Check says what is wrong with the description of a server, nil if nothing is.
func (s Server) Check() error {
	switch {
	case clean(s.Name) != s.Name || s.Name == "" || len(s.Name) > maxServer:
		return fmt.Errorf("%q is no name of at most %d letters, digits, - and _", s.Name, maxServer)
	case (len(s.Command) > 0) == (s.URL != ""):
		return errors.New("it needs either a command or an address")
	case len(s.Command) > 0 && (s.Token != "" || len(s.Headers) > 0):
		return errors.New("a token and headers are for an address; a program gets its secrets by env")
	case s.URL != "" && len(s.Env) > 0:
		return errors.New("env is for a program; an address gets a token or headers")
	case len(s.Command) > 0 && (s.Command[0] == "" || strings.Contains(s.Command[0], "/") && !filepath.IsAbs(s.Command[0])):
		return fmt.Errorf("%q is neither the name of a program nor an absolute path", s.Command[0])
	case s.Timeout < 0:
		return fmt.Errorf("a timeout of %s is below 0s", s.Timeout)
	}
	for _, entry := range s.Headers {
		if name, value, ok := strings.Cut(entry, ":"); !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return errors.New(`a header is not written as "Name: value"`) // without it, which may be a secret
		}
	}
	for _, entry := range s.Env {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" {
			return errors.New("a variable is not written as NAME=value")
		}
	}
	for _, pattern := range s.Tools {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is no pattern", pattern)
		}
	}
	return nil
}

// link is one way to a server, good for one connection. It is a transport of the library that knows how to end it for sure.
type link struct {
	sdk.Transport
	conn  sdk.Connection // once there is one
	said  *tail          // what the program wrote to standard error; nil = there is none
	ended func()         // ends it at once, whatever it does; nil = nothing to do
}

// Connect implements the library's Transport.
func (l *link) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := l.Transport.Connect(ctx)
	l.conn = conn
	return conn, err
}

// close ends the connection, which the library does not do after all failures.
func (l *link) close() {
	if l.conn != nil {
		stop := time.AfterFunc(Closing, l.kill)
		defer stop.Stop()
		_ = l.conn.Close()
	}
	l.kill()
}

func (l *link) kill() {
	if l.ended != nil {
		l.ended()
	}
}

// explain adds what the program said last.
func (l *link) explain(err error) error {
	if l.said == nil {
		return err
	}
	if text := l.said.text(); text != "" {
		return fmt.Errorf("%w; it said: %s", err, text)
	}
	return err
}

// reach makes the way to a server that its config describes.
func (s *server) reach() *link {
	if s.URL != "" {
		return s.overHTTP()
	}
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir = "/" // in any other folder, files could change what it does
	for _, name := range usual {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, s.Env...)
	l := &link{said: &tail{}}
	cmd.Stderr = l.said
	cmd.WaitDelay = Closing / 2
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	l.Transport = &sdk.CommandTransport{Command: cmd, TerminateDuration: Closing / 2}
	l.ended = func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	return l
}

func (s *server) overHTTP() *link {
	base := http.DefaultTransport.(*http.Transport).Clone()
	header := http.Header{}
	for _, entry := range s.Headers {
		name, value, _ := strings.Cut(entry, ":")
		header.Add(name, strings.TrimSpace(value))
	}
	if s.Token != "" {
		header.Set("Authorization", "Bearer "+s.Token)
	}
	client := &http.Client{
		Transport: authorised{base, header},
		// A redirect would take the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &link{Transport: &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client}, ended: base.CloseIdleConnections}
}

// authorised adds headers to every request.
type authorised struct {
	base   http.RoundTripper
	header http.Header
}

// RoundTrip implements http.RoundTripper.
func (a authorised) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if req.Method == http.MethodDelete { // the end of a session, which nobody waits for
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Closing)
		defer cancel()
	}
	req = req.Clone(ctx)
	for name, values := range a.header {
		req.Header[name] = values
	}
	return a.base.RoundTrip(req)
}

// tail keeps the end of what is written to it. Safe for use from any goroutine.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 1000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = slices.Delete(t.kept, 0, over)
	}
	return len(p), nil
}

// text is what was kept, in one line.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(oneLine(string(t.kept)), "")
}
