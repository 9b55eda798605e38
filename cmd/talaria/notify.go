package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
)

// supervisor tells systemd how the program is, by the protocol of sd_notify(3): datagrams of NAME=value lines to the
// socket that NOTIFY_SOCKET names. Without one, nobody wants to know.
type supervisor struct {
	socket   string
	watchdog time.Duration // how often it wants a sign of life at least; 0 = never
}

// supervisorFrom reads what systemd has put into the environment.
func supervisorFrom(getenv func(string) string) supervisor {
	s := supervisor{socket: getenv("NOTIFY_SOCKET")}
	if strings.HasPrefix(s.socket, "@") { // an abstract one
		s.socket = "\x00" + s.socket[1:]
	}
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	pid := getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		s.watchdog = time.Duration(usec) * time.Microsecond
	}
	return s
}

// tell sends lines.
func (s supervisor) tell(lines ...string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	return nil
}

// statusEvery is how often the status line is told without a watchdog.
const statusEvery = 30 * time.Second

// supervise says that the program is ready, then how it is and that it lives, until the context ends, and then that it
// stops. It lives while probe returns nil in time: what hangs is not fed.
func (s supervisor) supervise(ctx context.Context, probe func(context.Context) error, status func() string) error {
	if s.socket == "" {
		return nil
	}
	every := statusEvery
	if s.watchdog > 0 {
		every = min(every, s.watchdog/3)
	}
	failed := s.tell("READY=1", "STATUS="+status())
	for failed == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-time.After(every):
		}
		lines := []string{"STATUS=" + status()}
		within, cancel := context.WithTimeout(ctx, every)
		if err := probe(within); err != nil {
			lines[0] += " (not answering: " + err.Error() + ")"
		} else if s.watchdog > 0 {
			lines = append(lines, "WATCHDOG=1")
		}
		cancel()
		failed = s.tell(lines...)
	}
	return errors.Join(failed, s.tell("STOPPING=1", "STATUS=finishing what is under way"))
}

// statusLine says in a line how the platforms are.
func statusLine(adapters []platforms.Adapter) string {
	var parts []string
	for _, a := range adapters {
		parts = append(parts, fmt.Sprintf("%s %s", a.Name(), gateway.LifeOf(a)))
	}
	return strings.Join(parts, ", ")
}
