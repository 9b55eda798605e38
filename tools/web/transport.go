package web

import (
	"net"
	"net/http"
	"net/netip"

	"code.dny.dev/ssrf"
)

// metadata are addresses that look public and mean the machine's cloud. The others are in networks that are not public.
var metadata = []netip.Prefix{netip.MustParsePrefix("168.63.129.16/32")} // Azure's "WireServer"

// newGuard returns what decides about the address of every connection. The library knows all networks that IANA lists
// as special, and of IPv6 lets only global unicast through; so mapped and translated IPv4 addresses are no way around.
func newGuard(ports []uint16, private []netip.Prefix) *ssrf.Guardian {
	var v4, v6 []netip.Prefix
	for _, p := range private {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return ssrf.New(ssrf.WithPorts(ports...), ssrf.WithDeniedV4Prefixes(metadata...),
		ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
}

// newTransport returns a transport that connects to public addresses alone, and to those in private. The check is made on
// the socket, after the name was looked up and before anything is sent, so a name that is looked up twice and changes in
// between does not get past it.
func newTransport(ports []uint16, private []netip.Prefix, resolver *net.Resolver) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout, Resolver: resolver, Control: newGuard(ports, private).Safe}
	return &http.Transport{
		Proxy:                  nil, // a proxy would connect in our place, unchecked
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true, // so that no goroutine outlives its call
	}
}
