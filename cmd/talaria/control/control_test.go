//go:build unix

package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/cmd/talaria/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type greeting struct {
	Name string `json:"name"`
}

func operations(entered chan<- struct{}, left chan<- error) control.Operations {
	return control.Operations{
		"greet": control.Reading(func(_ context.Context, in greeting, out io.Writer) error {
			fmt.Fprintf(out, "hello %s\n", in.Name)
			if in.Name == "nobody" {
				return errors.New("there is nobody\nwith the key secret")
			}
			return nil
		}),
		"hang": control.Running(func(ctx context.Context, _ struct{}, out io.Writer) error {
			fmt.Fprint(out, "a beginning")
			close(entered)
			<-ctx.Done()
			left <- context.Cause(ctx)
			return ctx.Err()
		}),
	}
}

// serve runs a server until the test ends or stop is called, which waits for it.
func serve(t *testing.T, folder string, ops control.Operations) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := control.Server{Folder: folder, Operations: ops, Redact: func(s string) string {
		return strings.ReplaceAll(s, "secret", "[redacted]")
	}}
	go func() { ended <- s.Serve(ctx) }()
	for {
		if _, err := control.Find(folder); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatal("the server has ended: ", err)
		default:
		}
	}
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	return stop
}

func ask(t *testing.T, folder, operation string, request any) (string, error) {
	t.Helper()
	c, err := control.Find(folder)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = c.Do(t.Context(), operation, request, &out)
	return out.String(), err
}

func TestOperations(t *testing.T) {
	folder := t.TempDir()
	if _, err := control.Find(folder); !errors.Is(err, control.ErrNoInstance) {
		t.Fatalf("without an instance: %v", err)
	}
	stop := serve(t, folder, operations(nil, nil))
	for _, test := range []struct {
		operation  string
		request    any
		says, fail string
	}{
		{"greet", greeting{"Ada"}, "hello Ada\n", ""},
		{"greet", nil, "hello \n", ""},
		{"greet", greeting{"nobody"}, "hello nobody\n", "there is nobody\nwith the key [redacted]"},
		{"greet", map[string]int{"age": 3}, "", `read the request: json: unknown field "age"`},
		{"dance", nil, "", "the running instance cannot do dance; is it of another version?"},
	} {
		says, err := ask(t, folder, test.operation, test.request)
		if text := fmt.Sprint(err); says != test.says || (err != nil || test.fail != "") && text != test.fail {
			t.Errorf("%s %v: says %q, error %v", test.operation, test.request, says, err)
		}
	}
	stop()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("the server leaves %v, %v", entries, err)
	}
}

// TestOnlyTheOwner: the files are the owner's, and who cannot read the token is refused whatever else he knows.
func TestOnlyTheOwner(t *testing.T) {
	folder := t.TempDir()
	serve(t, folder, operations(nil, nil))
	var d struct{ Socket, Token string }
	text, err := os.ReadFile(filepath.Join(folder, "control.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{d.Socket, filepath.Join(folder, "control.json")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for name, test := range map[string]struct {
		url, token, origin string
		want               int
	}{
		"right":          {"http://talaria/greet", d.Token, "", http.StatusOK},
		"no token":       {"http://talaria/greet", "", "", http.StatusForbidden},
		"a wrong token":  {"http://talaria/greet", d.Token + "x", "", http.StatusForbidden},
		"another host":   {"http://localhost/greet", d.Token, "", http.StatusForbidden},
		"from a browser": {"http://talaria/greet", d.Token, "http://evil.example", http.StatusForbidden},
		"no operation":   {"http://talaria/", d.Token, "", http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+test.token)
		if test.origin != "" {
			req.Header.Set("Origin", test.origin)
		}
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.Socket)
		}}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, test.want)
		}
	}
}

// TestEnds: an operation ends with the command that asked for it, and with the instance, which waits for it.
func TestEnds(t *testing.T) {
	for _, by := range []string{"the command", "the instance"} {
		folder := t.TempDir()
		entered, left := make(chan struct{}), make(chan error, 1)
		stop := serve(t, folder, operations(entered, left))
		c, err := control.Find(folder)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		interrupted := errors.New("interrupted")
		read, write := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- c.Do(ctx, "hang", nil, write) }()
		beginning := make([]byte, len("a beginning"))
		if _, err := io.ReadFull(read, beginning); err != nil {
			t.Fatal(err)
		}
		<-entered
		if by == "the command" {
			cancel(interrupted)
		} else {
			stop()
		}
		if err := <-ended; err == nil || by == "the command" && !errors.Is(err, interrupted) {
			t.Errorf("ended by %s, the command gets %v", by, err)
		}
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("ended by %s, the operation ends with %v", by, err)
		}
	}
}

// TestAfterAKill: what a killed instance left is no instance, and in nobody's way.
func TestAfterAKill(t *testing.T) {
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))} {
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		left := filepath.Join(t.TempDir(), "control.sock")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
		door := fmt.Sprintf(`{"socket":%q,"token":"old"}`, left)
		if err := os.WriteFile(filepath.Join(folder, "control.json"), []byte(door), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, folder, "greet", nil); !errors.Is(err, control.ErrNoInstance) {
			t.Errorf("a dead instance: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- control.Server{Folder: folder, Operations: operations(nil, nil)}.Serve(ctx) }()
		for err = control.ErrNoInstance; err != nil && len(ended) == 0; {
			_, err = ask(t, folder, "greet", nil)
		}
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("the old socket is still there: %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, f := range []string{folder, temporary} {
			if entries, err := os.ReadDir(f); err != nil || len(entries) != 0 {
				t.Errorf("the server leaves %v, %v", entries, err)
			}
		}
	}
}
