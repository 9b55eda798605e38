package labpage

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// tokenHeader carries the token of a client that is not a browser.
const tokenHeader = "X-Talaria-Token"

// policy lets the page load its own files and nothing else; no inline script or style runs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard stands in front of the page: only a browser that was sent here by the printed address gets through, and no
// other website can use that browser to get through.
type guard struct {
	next     http.Handler
	token    string
	password string
	cookie   string     // a name of its own for each port, since cookies do not know ports
	port     string     // of the listen address
	host     netip.Addr // of the listen address; invalid = none but loopback
}

func newGuard(cfg Config, next http.Handler) http.Handler {
	g := guard{next: next, token: cfg.Token, password: cfg.Password}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err == nil {
		g.port = port
		g.host, _ = netip.ParseAddr(host) // a name leaves it invalid
	}
	g.cookie = "talaria-lab-" + g.port
	return g
}

// CheckListen refuses an address that other machines can reach, unless the page asks for a password.
func CheckListen(addr, password string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("reading the listen address %q: %w", addr, err)
	}
	if password != "" || host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("other machines could reach %s, and no password is set: listen on 127.0.0.1 or set a password", addr)
}

// ServeHTTP checks in this order: Host (against DNS rebinding), password, token, Origin (against other websites).
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")

	if !g.hostAllowed(r.Host) {
		http.Error(w, "This address is not the one that the lab listens on. Open the address that it printed at its start.",
			http.StatusForbidden)
		return
	}
	if _, given, _ := r.BasicAuth(); g.password != "" && !same(given, g.password) {
		h.Set("WWW-Authenticate", `Basic realm="Talaria lab", charset="UTF-8"`)
		http.Error(w, "The lab asks for its password (any user name).", http.StatusUnauthorized)
		return
	}
	byHeader := same(r.Header.Get(tokenHeader), g.token)
	if !byHeader && !g.admit(w, r) {
		http.Error(w, "The lab opens only with the full address that it printed at its start, token included.",
			http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !g.originAllowed(r, byHeader) {
		http.Error(w, "The lab takes orders only from its own page.", http.StatusForbidden)
		return
	}
	g.next.ServeHTTP(w, r)
}

// hostAllowed reports whether a Host header names this listener. A name other than localhost is never accepted: names
// can be pointed anywhere, numbers cannot.
func (g guard) hostAllowed(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, "80"
	}
	if port != g.port {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	return ip.IsLoopback() || g.host.IsValid() && (g.host.IsUnspecified() || ip == g.host)
}

// admit reports whether a browser shows the token, in the page's address or as the cookie that this sets. The address
// is answered without a redirect, which would lose a SameSite=Strict cookie after a click on another site's link.
func (g guard) admit(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet && r.URL.Path == "/" && same(r.URL.Query().Get("token"), g.token) {
		http.SetCookie(w, &http.Cookie{
			Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
		return true
	}
	c, err := r.Cookie(g.cookie)
	return err == nil && same(c.Value, g.token)
}

// originAllowed reports whether a request comes from the page itself. Browsers always name the origin of a POST; only
// a client that knows the token by itself may leave it out.
func (g guard) originAllowed(r *http.Request, byHeader bool) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return byHeader
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.Host == r.Host
}

// same compares secrets in constant time. An empty secret equals nothing.
func same(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}
