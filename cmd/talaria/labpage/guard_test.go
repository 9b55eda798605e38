package labpage_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/cmd/talaria/labpage"
)

func guarded(listen, password string) http.Handler {
	l := &lab{telegram: newStage(), slack: newStage(), discord: newStage(), addr: listen}
	cfg := l.config()
	cfg.Password = password
	return labpage.New(cfg)
}

func request(method, host, path string) *http.Request {
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestGuardHost(t *testing.T) {
	for _, tc := range []struct {
		listen, host string
		want         int
	}{
		{"127.0.0.1:80", "127.0.0.1", http.StatusOK},
		{"127.0.0.1:4000", "127.0.0.1:4000", http.StatusOK},
		{"127.0.0.1:4000", "localhost:4000", http.StatusOK},
		{"[::1]:4000", "[::1]:4000", http.StatusOK},
		{"192.168.1.5:4000", "192.168.1.5:4000", http.StatusOK},
		{"0.0.0.0:4000", "192.168.1.5:4000", http.StatusOK},
		{"127.0.0.1:4000", "127.0.0.1:4001", http.StatusForbidden},
		{"127.0.0.1:4000", "127.0.0.1", http.StatusForbidden},
		{"127.0.0.1:4000", "evil.example:4000", http.StatusForbidden},
		{"127.0.0.1:4000", "localhost.evil.example:4000", http.StatusForbidden},
		{"127.0.0.1:4000", "127.0.0.1.evil.example:4000", http.StatusForbidden},
		{"127.0.0.1:4000", "192.168.1.5:4000", http.StatusForbidden},
		{"192.168.1.5:4000", "192.168.1.6:4000", http.StatusForbidden},
		{"0.0.0.0:4000", "evil.example:4000", http.StatusForbidden},
	} {
		if got := serve(guarded(tc.listen, ""), request("GET", tc.host, "/?token="+token)).Code; got != tc.want {
			t.Errorf("listening on %s, host %s: status %d, want %d", tc.listen, tc.host, got, tc.want)
		}
	}
}

func TestGuardToken(t *testing.T) {
	const host = "127.0.0.1:4000"
	h := guarded(host, "")
	for _, path := range []string{"/", "/?token=", "/?token=wrong", "/main.js", "/main.js?token=" + token, "/api/lab", "/api/events"} {
		if got := serve(h, request("GET", host, path)).Code; got != http.StatusForbidden {
			t.Errorf("GET %s without the cookie: status %d, want %d", path, got, http.StatusForbidden)
		}
	}
	opened := serve(h, request("GET", host, "/?token="+token))
	cookies := opened.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("opening the page set the cookies %v, want one that is HttpOnly and SameSite=Strict", cookies)
	}
	for _, path := range []string{"/", "/main.js", "/api/lab"} {
		r := request("GET", host, path)
		r.AddCookie(cookies[0])
		if got := serve(h, r).Code; got != http.StatusOK {
			t.Errorf("GET %s with the cookie: status %d, want %d", path, got, http.StatusOK)
		}
	}
	r := request("GET", host, "/api/lab")
	r.Header.Set("X-Talaria-Token", token)
	if got := serve(h, r).Code; got != http.StatusOK {
		t.Errorf("with the token in the header: status %d, want %d", got, http.StatusOK)
	}
}

func TestGuardEmptyTokenOpensNothing(t *testing.T) {
	h := labpage.New(labpage.Config{Listen: "127.0.0.1:4000"})
	for _, path := range []string{"/", "/?token=", "/api/lab"} {
		if got := serve(h, request("GET", "127.0.0.1:4000", path)).Code; got != http.StatusForbidden {
			t.Errorf("GET %s: status %d, want %d", path, got, http.StatusForbidden)
		}
	}
}

func TestGuardOrigin(t *testing.T) {
	const host = "127.0.0.1:4000"
	h := guarded(host, "")
	cookie := serve(h, request("GET", host, "/?token="+token)).Result().Cookies()[0]
	for _, tc := range []struct {
		origin   string
		byHeader bool
		want     int
	}{
		{"http://127.0.0.1:4000", false, http.StatusUnprocessableEntity}, // past the guard: no platform is named
		{"", true, http.StatusUnprocessableEntity},
		{"", false, http.StatusForbidden},
		{"null", false, http.StatusForbidden},
		{"http://127.0.0.1:4001", false, http.StatusForbidden},
		{"https://127.0.0.1:4000", false, http.StatusForbidden},
		{"http://evil.example", false, http.StatusForbidden},
		{"http://evil.example", true, http.StatusForbidden},
	} {
		r := request("POST", host, "/api/say")
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if tc.byHeader {
			r.Header.Set("X-Talaria-Token", token)
		} else {
			r.AddCookie(cookie)
		}
		if got := serve(h, r).Code; got != tc.want {
			t.Errorf("origin %q, token in header %t: status %d, want %d", tc.origin, tc.byHeader, got, tc.want)
		}
	}
}

func TestGuardPassword(t *testing.T) {
	const host = "192.168.1.5:4000"
	h := guarded(host, "hunter2")
	for given, want := range map[string]int{"": http.StatusUnauthorized, "x": http.StatusUnauthorized, "hunter2": http.StatusOK} {
		r := request("GET", host, "/?token="+token)
		r.SetBasicAuth("anyone", given)
		if got := serve(h, r).Code; got != want {
			t.Errorf("password %q: status %d, want %d", given, got, want)
		}
	}
	r := request("GET", host, "/")
	r.SetBasicAuth("anyone", "hunter2")
	if got := serve(h, r).Code; got != http.StatusForbidden {
		t.Errorf("the password without the token: status %d, want %d", got, http.StatusForbidden)
	}
}

func TestGuardHeaders(t *testing.T) {
	for _, path := range []string{"/?token=" + token, "/nothing"} {
		h := serve(guarded("127.0.0.1:4000", ""), request("GET", "127.0.0.1:4000", path)).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cache-Control": "no-store",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
		csp := h.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("GET %s: the policy is %q", path, csp)
		}
	}
}

func TestCheckListen(t *testing.T) {
	for _, tc := range []struct {
		addr, password string
		ok             bool
	}{
		{"127.0.0.1:0", "", true},
		{"localhost:8080", "", true},
		{"[::1]:8080", "", true},
		{":8080", "", false},
		{"0.0.0.0:8080", "", false},
		{"[::]:8080", "", false},
		{"192.168.1.5:8080", "", false},
		{"lab.example:8080", "", false},
		{"8080", "x", false},
		{"0.0.0.0:8080", "hunter2", true},
	} {
		if err := labpage.CheckListen(tc.addr, tc.password); (err == nil) != tc.ok {
			t.Errorf("CheckListen(%q, %q) = %v, want ok %t", tc.addr, tc.password, err, tc.ok)
		}
	}
}
