// Package labpage is the page of `talaria lab`: one pane a platform, where a person writes to the bot, presses its
// buttons and sees what it does, with a simulator (sim.Stage) behind each pane.
//
// New returns an http.Handler. It starts no goroutine of its own; a request of the event stream starts one watcher for
// each pane and waits for all of them before it returns. An open stream ends with its connection and with its request's
// context only, so http.Server.Shutdown alone would wait for it: close the server, or cancel its base context first.
//
// The stream starts with everything that is visible and then carries changes. Changes of one chat arrive in order;
// several that happen together may arrive as one, so a state in between can be missing, the last one never.
//
// Every request passes the guard (see guard.go) first. The package never talks to a real platform, keeps nothing and
// trusts no HTML: what the simulators draw is built anew in the browser from a short list of elements.
package labpage

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// Config is what the page shows and how it is guarded.
type Config struct {
	// Listen is the address that the page is served on, as net.Listener.Addr gives it. Requests whose Host header is
	// neither that address nor localhost, with its port, are refused.
	Listen string
	// Token opens the page: as ?token= in its address, then as a cookie, or in the header X-Talaria-Token. Nothing
	// passes while it is empty.
	Token string
	// Password is asked for in addition to the token if it is set. See CheckListen.
	Password string

	Panes       []Pane
	Suggestions []string // texts that a click puts into the input
	Hint        string   // what to try first; it shows where there are no messages yet
}

// Pane is one platform on the page.
type Pane struct {
	Platform platforms.Name
	Title    string
	Bot      string // the bot's name
	Stage    sim.Stage
	Users    []User // who can be picked as the sender; the first one is picked at the start
	Chats    []Chat
	Commands []platforms.Command // native commands; none where the platform has no menu for them
}

// User is a person that can be picked as the sender.
type User struct {
	sim.User
	Stranger bool // not on the allowlist; the page marks them
}

// Chat is a place that the page lists for its members (for everyone if it names none).
type Chat struct {
	sim.Chat
	Threads []Thread // threads and topics that exist from the start
}

// Thread is a thread or topic with a title.
type Thread struct{ ID, Title string }

//go:embed page
var page embed.FS

// New returns the page and its API behind the guard.
func New(cfg Config) http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	s := server{cfg}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /api/lab", s.describe)
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("POST /api/say", post(s.say))
	mux.HandleFunc("POST /api/edit", post(s.edit))
	mux.HandleFunc("POST /api/delete", post(s.remove))
	mux.HandleFunc("POST /api/press", post(s.press))
	mux.HandleFunc("POST /api/invoke", post(s.invoke))
	mux.HandleFunc("POST /api/fault", post(s.addFault))
	mux.HandleFunc("POST /api/calm", post(s.clearFaults))
	return newGuard(cfg, mux)
}

// server answers the API. It holds no state but the configuration.
type server struct{ cfg Config }

// pane finds a pane by the name of its platform.
func (s server) pane(name platforms.Name) (Pane, bool) {
	for _, p := range s.cfg.Panes {
		if p.Platform == name {
			return p, true
		}
	}
	return Pane{}, false
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the browser has gone
}
