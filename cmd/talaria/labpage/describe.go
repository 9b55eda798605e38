package labpage

import (
	"net/http"

	"github.com/talaria-agent/talaria/platforms"
)

// The description of the lab as the page reads it. It does not change while the lab runs.
type (
	labView struct {
		Panes       []paneView `json:"panes"`
		Suggestions []string   `json:"suggestions"`
		Hint        string     `json:"hint"`
	}
	paneView struct {
		Platform platforms.Name `json:"platform"`
		Title    string         `json:"title"`
		Bot      string         `json:"bot"`
		Users    []userView     `json:"users"`
		Chats    []chatView     `json:"chats"`
		Commands []commandView  `json:"commands"`
		Targets  []string       `json:"targets"` // what a fault can be aimed at
	}
	userView struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Bot      bool   `json:"bot"`
		Stranger bool   `json:"stranger"`
	}
	chatView struct {
		ID      string       `json:"id"`
		Kind    string       `json:"kind"`
		Title   string       `json:"title"`
		Members []string     `json:"members"`
		Threads []threadView `json:"threads"`
	}
	threadView struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	commandView struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Argument    string `json:"argument"`
	}
)

func (s server) describe(w http.ResponseWriter, _ *http.Request) {
	view := labView{Panes: []paneView{}, Suggestions: append([]string{}, s.cfg.Suggestions...), Hint: s.cfg.Hint}
	for _, p := range s.cfg.Panes {
		view.Panes = append(view.Panes, describePane(p))
	}
	writeJSON(w, http.StatusOK, view)
}

func describePane(p Pane) paneView {
	view := paneView{
		Platform: p.Platform, Title: p.Title, Bot: p.Bot,
		Users: []userView{}, Chats: []chatView{}, Commands: []commandView{}, Targets: faultTargets(p.Platform),
	}
	for _, u := range p.Users {
		view.Users = append(view.Users, userView{ID: u.ID, Name: u.Name, Bot: u.Bot, Stranger: u.Stranger})
	}
	for _, c := range p.Chats {
		cv := chatView{
			ID: c.ID, Kind: c.Kind, Title: c.Title, Members: append([]string{}, c.Members...), Threads: []threadView{},
		}
		for _, t := range c.Threads {
			cv.Threads = append(cv.Threads, threadView(t))
		}
		view.Chats = append(view.Chats, cv)
	}
	for _, c := range p.Commands {
		view.Commands = append(view.Commands, commandView(c))
	}
	return view
}
