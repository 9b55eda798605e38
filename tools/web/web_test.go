package web

import (
	"context"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/talaria-agent/talaria/tools"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var here = tools.Scope{Conversation: "telegram:1:dm:2"}

// call calls a tool that must not fail with an error.
func call(t *testing.T, tool tools.Tool, arguments map[string]any) tools.Result {
	t.Helper()
	return callFrom(t, tool, here, arguments)
}

func callFrom(t *testing.T, tool tools.Tool, scope tools.Scope, arguments map[string]any) tools.Result {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Call(t.Context(), scope, raw)
	if err != nil {
		t.Fatalf("call with %s: %v", raw, err)
	}
	return r
}

// extractor makes web_extract over a resolver (nil = one that knows nothing).
func extractor(t *testing.T, o Options, resolver *net.Resolver) tools.Tool {
	t.Helper()
	if resolver == nil {
		resolver = names(nil)
	}
	set, err := newSet(o, resolver)
	if err != nil {
		t.Fatal(err)
	}
	return set[0]
}

// site serves a handler on all loopback addresses, of which only 127.0.0.1 counts as public for the options that it
// returns. address begins with "http://127.0.0.1:".
func site(t *testing.T, handler http.HandlerFunc) (address string, o Options) {
	t.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	port := l.Addr().(*net.TCPAddr).Port
	return "http://127.0.0.1:" + strconv.Itoa(port), Options{
		Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Ports: []uint16{uint16(port)},
	}
}

// pages serves one text of one type.
func pages(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		_, _ = w.Write([]byte(body))
	}
}

// names returns a resolver that asks answer for the addresses of a host, IPv4 and IPv6 together; nil = it knows none.
func names(answer func(host string) []string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serveNames(theirs, answer)
		return ours, nil
	}}
}

// serveNames answers the questions that come over a connection, each with its length in front.
func serveNames(c net.Conn, answer func(string) []string) {
	defer c.Close()
	for {
		head := make([]byte, 2)
		if _, err := readFull(c, head); err != nil {
			return
		}
		packet := make([]byte, int(head[0])<<8|int(head[1]))
		if _, err := readFull(c, packet); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packet) != nil || len(m.Questions) != 1 {
			return
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		var known []string
		if answer != nil && q.Type == dnsmessage.TypeA {
			known = answer(strings.TrimSuffix(q.Name.String(), "."))
		}
		for _, text := range known {
			ip := netip.MustParseAddr(text)
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: ip.As4()},
			})
		}
		if answer == nil {
			m.RCode = dnsmessage.RCodeNameError
		}
		out, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := c.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...)); err != nil {
			return
		}
	}
}

func readFull(c net.Conn, into []byte) (n int, err error) {
	for n < len(into) && err == nil {
		var k int
		k, err = c.Read(into[n:])
		n += k
	}
	return n, err
}
