// Package web is the toolset that reads web pages and asks a search engine.
//
// What it fetches is chosen by a model that may have been told by a stranger what to fetch. So the address that a
// connection is really made to is checked (see newTransport), on every redirect again, and nothing goes along: no cookie,
// no referrer, no credential, no proxy of the environment. Results are untrusted text.
//
// The tools start no goroutines beside those of a running HTTP request, keep no connection open between calls, and
// end with the context. Pages that are read in parts are kept in memory for some minutes, each conversation for itself.
package web

import (
	"context"
	_ "embed"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// toolset is the name under which the configuration switches these tools on.
const toolset = "web"

// Limits of one request.
const (
	fetchTimeout   = 30 * time.Second // from the first look-up to the last byte
	connectTimeout = 10 * time.Second // to one address
	maxBody        = 16 << 20         // bytes, unpacked
	maxHeader      = 64 << 10         // bytes
	maxRedirects   = 8
)

var (
	//go:embed web_extract.md
	extractDescription string
	//go:embed web_search.md
	searchDescription string
)

// Options say what may be reached.
type Options struct {
	Allow   []string       // domains that may be fetched, each with all below it; empty = all
	Deny    []string       // domains that may not, whatever Allow says
	Private []netip.Prefix // networks that may be reached although they are not public
	Ports   []uint16       // empty = 80 and 443
	// Secret tells whether a text holds a secret that must not leave; nil = nothing is one.
	Secret func(text string) bool
	// Reader answers questions about long pages; nil = nobody does, and questions are not offered.
	Reader tools.Describer
	// Engine is asked by web_search; without a name there is no such tool.
	Engine Engine
	// Dial connects in place of the network, for tests. Addresses are not checked then.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns the tools of the set: web_extract and, if there is an engine, web_search.
func New(o Options) ([]tools.Tool, error) { return newSet(o, net.DefaultResolver) }

func newSet(o Options, resolver *net.Resolver) ([]tools.Tool, error) {
	r, err := newRules(o)
	if err != nil {
		return nil, err
	}
	transport := newTransport(r.ports, o.Private, resolver)
	if o.Dial != nil {
		transport.DialContext = o.Dial
	}
	extract, err := newExtract(r, &http.Client{Transport: transport, CheckRedirect: r.checkRedirect}, o.Reader)
	if err != nil || o.Engine.Name == "" {
		return []tools.Tool{extract}, err
	}
	search, err := newSearch(r, o.Engine)
	return []tools.Tool{extract, search}, err
}
