package control

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	host         = "talaria"       // the Host of all requests
	errorTrailer = "Talaria-Error" // what went wrong, escaped as in a query; comes after all that was written
	maxRequest   = 1 << 20         // bytes
)

// Server is the side of the running instance.
type Server struct {
	Folder     string // the state folder; the caller holds the lock of the database in it
	Operations Operations
	Redact     func(string) string // takes secrets out of errors
}

// Serve answers until the context ends, and returns when the last operation has.
func (s Server) Serve(ctx context.Context) error {
	d, l, err := open(s.Folder)
	if err != nil {
		return err
	}
	defer d.remove(s.Folder)
	var running sync.RWMutex // read-locked by each operation
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if running.TryRLock() {
				defer running.RUnlock()
				s.answer(w, r, d.Token)
			}
		}),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err = server.Serve(l)
	running.Lock() // waits for all, and lets none begin any more
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve the control socket: %w", err)
}

func (s Server) answer(w http.ResponseWriter, r *http.Request, token string) {
	given := r.Header.Get("Authorization")
	if r.Host != host || r.Header.Get("Origin") != "" || subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+token)) == 0 {
		http.Error(w, "this is for the talaria command of the same user", http.StatusForbidden)
		return
	}
	op, ok := s.Operations[r.URL.Path[1:]]
	if !ok || r.Method != http.MethodPost {
		http.Error(w, "no such operation", http.StatusNotFound)
		return
	}
	w.Header().Set("Trailer", errorTrailer)
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		err = op.Do(r.Context(), request, flushed{w})
	}
	if err != nil {
		w.Header().Set(errorTrailer, url.QueryEscape(s.Redact(err.Error())))
	}
}

// flushed sends what is written at once, because an operation may say something long before its end.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	return n, errors.Join(err, http.NewResponseController(f.ResponseWriter).Flush())
}
