package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

// special are addresses of every class that is not public, in their usual form.
var special = []string{
	"0.0.0.0", "0.1.2.3", // unspecified, this network
	"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", // private
	"100.64.0.1", "100.127.255.255", "100.100.100.200", // CGNAT, and Alibaba's metadata in it
	"127.0.0.1", "127.255.255.255", // loopback
	"169.254.169.254", "169.254.0.1", // link-local, metadata
	"168.63.129.16", "192.0.0.192", // Azure's and Oracle's metadata
	"192.0.0.1", "192.88.99.1", // protocol assignments, 6to4 relays
	"192.0.2.1", "198.51.100.1", "203.0.113.1", // documentation
	"198.18.0.1", "198.19.255.255", // benchmarking
	"224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", // multicast, reserved, broadcast
	"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", // mapped and compatible
	"64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::a00:1", // NAT64
	"100::1", "2001::1", "2001:db8::1", "2001:20::1", "3fff::1", // discard, Teredo, documentation, ORCHID
	"2002:7f00:1::", "2002:a00:1::1", // 6to4
	"fc00::1", "fd00:ec2::254", "fe80::1", "febf::1", "fec0::1", // unique local, Amazon's metadata, link-local, site-local
	"ff02::1", "ff0e::1", "5f00::1", "4000::1", // multicast, segment routing, not given to anybody
}

var public = []string{"8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1111", "2a00:1450::1"}

func TestGuard(t *testing.T) {
	ports := []uint16{80, 443}
	guard := newGuard(ports, nil)
	at := func(ip string, port int) string {
		return netip.AddrPortFrom(netip.MustParseAddr(ip), uint16(port)).String()
	}
	network := func(ip string) string {
		if netip.MustParseAddr(ip).Is4() {
			return "tcp4"
		}
		return "tcp6"
	}
	for _, ip := range special {
		if guard.Safe(network(ip), at(ip, 80), nil) == nil {
			t.Errorf("%s can be reached", ip)
		}
	}
	for _, ip := range public {
		if err := guard.Safe(network(ip), at(ip, 443), nil); err != nil {
			t.Errorf("%s cannot be reached: %v", ip, err)
		}
		if guard.Safe(network(ip), at(ip, 22), nil) == nil {
			t.Errorf("port 22 of %s can be reached", ip)
		}
	}
	if guard.Safe("tcp6", "[fe80::1%eth0]:80", nil) == nil || guard.Safe("tcp6", "[2606:4700::1111%eth0]:80", nil) == nil {
		t.Error("an address with a zone can be reached")
	}
	own := newGuard(ports, []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("fd12::/16")})
	for ip, want := range map[string]bool{"10.1.2.3": true, "10.1.3.3": false, "fd12::1": true, "fd13::1": false, "127.0.0.1": false} {
		if got := own.Safe(network(ip), at(ip, 80), nil) == nil; got != want {
			t.Errorf("%s can be reached: %v", ip, got)
		}
	}
}

// TestForbidden asks for what must not be fetched, in every way in which it can be written.
func TestForbidden(t *testing.T) {
	asked := atomic.Int32{}
	tool := extractor(t, Options{Deny: []string{"bad.example"}}, names(func(host string) []string {
		asked.Add(1)
		if host == "public.example" {
			t.Errorf("%s was looked up", host)
		}
		return []string{"127.0.0.1"}
	}))
	var addresses []string
	for _, ip := range special {
		if strings.Contains(ip, ":") {
			ip = "[" + ip + "]"
		}
		addresses = append(addresses, "http://"+ip+"/", "https://"+ip+"/latest/meta-data")
	}
	addresses = append(addresses,
		"http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0x7F.1/", "http://127.1/", "http://127.0.1/", // loopback, as C reads it
		"http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://127.0.0.0x1/", "http://127.0.0.1./", "http://0/", "http://00/", "http://3232235777/",
		"http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/", "http://127.0.0.%31/", // as browsers read it
		"http://[fe80::1%25eth0]/", "http://[::1%25lo]/", "http://[0:0:0:0:0:ffff:7f00:1]/", "http://[::ffff:0:7f00:1]/",
		"http://localhost/", "http://LOCALHOST./", "http://intranet/", "http://rebound.example/", // by name
		"http://user:password@public.example/", "http://user@public.example/", "http://public.example@127.0.0.1/",
		"http://public.example:22/", "http://public.example:8080/", "https://public.example:0/", "http://public.example:99999/",
		"ftp://public.example/", "file:///etc/passwd", "gopher://public.example/", "data:text/plain,hello", "javascript:alert(1)", "public.example", "",
		"http://bad.example/", "http://sub.bad.example/", "http://BAD.EXAMPLE./", "http:///path", "http://", "//public.example/",
	)
	for _, address := range addresses {
		r := call(t, tool, map[string]any{"url": address})
		if !r.Failed || r.Class != tools.FailPermission {
			t.Errorf("%s: %+v", address, r)
		}
		if strings.Contains(r.Text, "password") && strings.Contains(r.Text, "user:") {
			t.Errorf("%s: the credentials are repeated: %s", address, r.Text)
		}
	}
	if asked.Load() == 0 {
		t.Error("nothing was looked up, so the resolver of this test was not in use")
	}
}

func TestRedirects(t *testing.T) {
	target := ""
	visits := atomic.Int32{}
	address, o := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("it is told where we come from: %v", r.Header)
		}
		if r.URL.Path == "/" {
			w.Header().Set("Set-Cookie", "a=b")
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
			return
		}
		visits.Add(1)
		_, _ = w.Write([]byte("here it is"))
	})
	port := address[strings.LastIndexByte(address, ':'):]
	o.Deny = []string{"bad.example"}
	tool := extractor(t, o, names(func(string) []string { return []string{"127.0.0.2"} }))
	for _, target = range []string{
		"http://127.0.0.2" + port + "/secret", "http://[::1]" + port + "/secret", "http://[::ffff:127.0.0.2]" + port + "/secret",
		"http://2130706434" + port + "/secret", "http://10.0.0.1" + port + "/", "http://169.254.169.254" + port + "/",
		"http://name.example" + port + "/secret", "http://bad.example" + port + "/", "http://u:p@127.0.0.1" + port + "/secret",
		"http://127.0.0.1:1/", "file:///etc/passwd", "ftp://127.0.0.1" + port + "/",
	} {
		if r := call(t, tool, map[string]any{"url": address}); r.Class != tools.FailPermission {
			t.Errorf("redirect to %s: %+v", target, r)
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	target = "/loop"
	if r := call(t, tool, map[string]any{"url": address}); !strings.Contains(r.Text, "without an end") {
		t.Errorf("a loop: %+v", r)
	}
	target = "/there"
	if r := call(t, tool, map[string]any{"url": address}); r.Failed || !strings.Contains(r.Text, "here it is") || !strings.Contains(r.Text, address+"/there") {
		t.Errorf("a redirect on the site: %+v", r)
	}
}

// TestRebinding looks a name up twice: it is public the first time, and then it is not.
func TestRebinding(t *testing.T) {
	visits := atomic.Int32{}
	address, o := site(t, func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_, _ = w.Write([]byte("public"))
	})
	asked := atomic.Int32{}
	tool := extractor(t, o, names(func(string) []string {
		if asked.Add(1) == 1 {
			return []string{"127.0.0.1"}
		}
		return []string{"127.0.0.2"}
	}))
	there := strings.Replace(address, "127.0.0.1", "changes.example", 1)
	if r := call(t, tool, map[string]any{"url": there}); r.Failed {
		t.Fatalf("the first time: %+v", r)
	}
	if r := call(t, tool, map[string]any{"url": there}); r.Class != tools.FailPermission {
		t.Errorf("the second time: %+v", r)
	}
	if asked.Load() != 2 || visits.Load() != 1 {
		t.Errorf("looked up %d times, visited %d times", asked.Load(), visits.Load())
	}
	// A name with addresses of both kinds leads to the public one.
	tool = extractor(t, o, names(func(string) []string { return []string{"127.0.0.2", "127.0.0.1"} }))
	if r := call(t, tool, map[string]any{"url": there}); r.Failed || visits.Load() != 2 {
		t.Errorf("two addresses: %+v", r)
	}
}

func TestDomains(t *testing.T) {
	r, err := newRules(Options{Allow: []string{"Example.com", "*.münchen.example."}, Deny: []string{"private.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"https://example.com/": true, "https://www.EXAMPLE.com./": true, "https://www.example.com:443/": true,
		"https://notexample.com/": false, "https://example.com.evil.example/": false, "https://example.org/": false,
		"https://private.example.com/": false, "https://a.private.example.com/": false,
		"https://münchen.example/": true, "https://a.xn--mnchen-3ya.example/": true,
	} {
		if _, err := r.parse(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, wrong := range []string{"", "https://example.com", "example.com/path", "a b", "*", "*.*"} {
		if CheckDomains([]string{wrong}) == nil {
			t.Errorf("%q is taken for a domain", wrong)
		}
	}
}

func TestSecretsStay(t *testing.T) {
	const secret = "s3cret/value+1"
	o := Options{
		Secret: func(text string) bool { return strings.Contains(text, secret) },
		Engine: Engine{Name: SearXNG, URL: "http://127.0.0.1:1"},
	}
	set, err := newSet(o, names(func(host string) []string {
		t.Errorf("%s was looked up", host)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	once := url.QueryEscape(secret)
	for _, text := range []string{secret, once, url.QueryEscape(once), url.PathEscape(secret), "%73" + once[1:], "100%&" + once} {
		for _, c := range []struct {
			tool      tools.Tool
			arguments map[string]any
		}{
			{set[0], map[string]any{"url": "https://a.example/?q=" + text}},
			{set[0], map[string]any{"url": "https://a.example/x/" + text + "/y#z"}},
			{set[1], map[string]any{"query": "what is " + text}},
		} {
			r := call(t, c.tool, c.arguments)
			if r.Class != tools.FailPermission || strings.Contains(r.Text, secret) {
				t.Errorf("%v: %+v", c.arguments, r)
			}
		}
	}
}

// TestLongAddress asks a person before what was said can leave in an address.
func TestLongAddress(t *testing.T) {
	tool := extractor(t, Options{Allow: []string{"known.example"}}, nil)
	open := extractor(t, Options{}, nil)
	long := strings.Repeat("x", longAddress)
	for _, c := range []struct {
		tool    tools.Tool
		address string
		want    tools.Verdict
	}{
		{open, "https://a.example/page?id=1", tools.Allow},
		{open, "https://a.example/?q=" + long, tools.AskFirst},
		{open, "https://a.example/" + long, tools.AskFirst},
		{tool, "https://known.example/?q=" + long, tools.Allow},
		{open, "http://10.0.0.1:22/?q=" + long, tools.Allow}, // the call refuses it
	} {
		j := c.tool.Spec().Judge(here, []byte(fmt.Sprintf(`{"url": %q}`, c.address)))
		if j.Verdict != c.want {
			t.Errorf("%.60s: %+v", c.address, j)
		}
		if c.want == tools.AskFirst && (j.Rule == "" || !strings.Contains(j.Reason, "a.example")) {
			t.Errorf("asked without saying what: %+v", j)
		}
	}
}

// FuzzAddress looks for an address that is let through although it leads to where nothing may be fetched. An address that
// a C library would read as a number must have been refused, or be a public one in its usual form.
func FuzzAddress(f *testing.F) {
	for _, ip := range append(special, public...) {
		f.Add("http://" + ip + "/")
		f.Add("https://[" + ip + "]:443/x")
	}
	for _, s := range []string{"http://0x7f.1/", "http://1.2.3.04", "http://a@b/", "http://１.2/", "http://a.0x/", "http://%31/"} {
		f.Add(s)
	}
	r, err := newRules(Options{})
	if err != nil {
		f.Fatal(err)
	}
	guard := newGuard(r.ports, nil)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := r.parse(text)
		if err != nil {
			return
		}
		if u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() != "" && u.Port() != "80" && u.Port() != "443" {
			t.Errorf("%q is let through as %s", text, u)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host {
			t.Errorf("%q becomes %q, which reads as %v, %v", text, u, again, err)
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if err != nil {
			if old, ok := asC(u.Hostname()); ok {
				t.Errorf("%q is let through; a C library connects to %s", text, old)
			}
			return
		}
		if guard.SafeAddr(ip) != nil {
			return
		}
		if plain := ip.Unmap(); plain != ip || !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			t.Errorf("%q is let through to %s", text, ip)
		}
	})
}

// asC reads a host as inet_aton does: one to four numbers, decimal, octal or hexadecimal, the last of which fills up.
func asC(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		if err != nil || strings.ContainsAny(part, "_oObB") {
			return netip.Addr{}, false
		}
		if last := i == len(parts)-1; last {
			value = value<<(8*(4-i)) | n
		} else {
			value = value<<8 | n&255
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}
