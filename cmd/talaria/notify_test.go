//go:build unix

package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSystemd runs the program under what looks to it like systemd.
func TestSystemd(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, echo, nil)
	config := s.config(t, filepath.Join(t.TempDir(), "data"), "")
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	told := make(chan string, 1000)
	go func() {
		defer close(told)
		for buf := make([]byte, 4096); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			told <- string(buf[:n])
		}
	}()
	hears := func(what string) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			select {
			case text := <-told:
				if strings.Contains("\n"+text+"\n", "\n"+what) {
					return
				}
			case <-deadline:
				t.Fatalf("systemd was not told %q", what)
			}
		}
	}
	p := launch(t, []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=300000"}, "run", "--config", config)
	hears("READY=1\n")
	hears("WATCHDOG=1\n")
	hears("STATUS=telegram alive, slack alive, discord alive\n")
	p.signal(t, syscall.SIGTERM)
	hears("STOPPING=1\n")
	p.mustExit(t, 0)
}
