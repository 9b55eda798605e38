package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestHTTPInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			select { // virtual: a slow answer costs nothing
			case <-time.After(time.Hour):
			case <-r.Context().Done():
			}
			_, _ = w.Write(body)
		})}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		transport := &http.Transport{DialContext: l.Dial}
		client := &http.Client{Transport: transport}

		start := time.Now()
		resp, err := client.Post("http://anything/", "text/plain", io.LimitReader(zeros{}, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(body) != 1<<20 {
			t.Errorf("read %d bytes, error %v; want 1 MiB", len(body), err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("took %v of virtual time, want exactly 1h", took)
		}

		client.Timeout = time.Minute
		if _, err := client.Get("http://anything/"); err == nil || !os.IsTimeout(err) {
			t.Errorf("slow answer with a client timeout: error %v, want a timeout", err)
		}
		transport.CloseIdleConnections()
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
}

func TestReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		_ = a.SetReadDeadline(time.Now().Add(5 * time.Second))
		start := time.Now()
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read past its deadline: %v", err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("deadline fired after %v", took)
		}
		_ = a.SetReadDeadline(time.Time{})
		go func() { time.Sleep(time.Minute); _, _ = b.Write([]byte("x")) }()
		if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read after the deadline was lifted: %d, %v", n, err)
		}
		_ = a.SetWriteDeadline(time.Now().Add(-time.Second))
		if _, err := a.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write past its deadline: %v", err)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		_, _ = a.Write([]byte("last words"))
		_ = a.Close()
		if got, err := io.ReadAll(b); string(got) != "last words" || err != nil {
			t.Errorf("peer read %q, %v; want what was written before the close", got, err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("write to a closed peer: %v", err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after own close: %v", err)
		}
		if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write after own close: %v", err)
		}
		_ = b.Close()
	})
}

func TestCloseEndsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := Pipe()
		failed := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		_ = a.Close()
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("pending read ended with %v", err)
		}
	})
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Dial(ctx, "tcp", "host:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial that nobody accepts: %v", err)
		}
		_ = l.Close()
		_ = l.Close() // twice is fine
		if _, err := l.Dial(t.Context(), "tcp", "host:1"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial after close: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept after close: %v", err)
		}
	})
}

// zeros reads as an endless row of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
