package discord

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// signedFor is how long the address of a file is good (docs.discord.com/developers/reference#signed-attachment-cdn-urls).
const signedFor = 24 * time.Hour

// seen notes under which host the client knows us. The CDN is another one at Discord; here it is the same.
func (s *Server) seen(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = r.Host
}

// signed returns the address of a message's file. The lock is held.
func (s *Server) signed(m *message) string {
	host := "https://cdn.discordapp.com"
	if s.host != "" {
		host = "http://" + s.host
	}
	path := "/attachments/" + m.place.id + "/" + m.id + "/" + url.PathEscape(m.file.Name)
	until := strconv.FormatInt(time.Now().Add(signedFor).Unix(), 16)
	return host + path + "?" + url.Values{"ex": {until}, "is": {strconv.FormatInt(time.Now().Unix(), 16)}, "hm": {signature(m.id, until)}}.Encode()
}

func signature(id, until string) string {
	sum := sha256.Sum256([]byte(id + " " + until))
	return hex.EncodeToString(sum[:])
}

// serveFile is the CDN: it needs no token but a signature that has not expired. A fault's method for it is "file".
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	if fault, faulty := s.faults.Take("file", s.chatOf(r.PathValue("channel"))); faulty && !s.suffer(w, r, fault) {
		return
	}
	until, err := strconv.ParseInt(r.FormValue("ex"), 16, 64)
	if err != nil || time.Now().Unix() > until || r.FormValue("hm") != signature(r.PathValue("message"), r.FormValue("ex")) {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	file := s.fileOf(r.PathValue("channel"), r.PathValue("message"))
	if file == nil || file.Name != r.PathValue("name") {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", file.Type)
	_, _ = w.Write(file.Data)
}

func (s *Server) fileOf(channel, id string) *sim.Upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	if p == nil {
		return nil
	}
	m := p.find(id)
	if m == nil {
		return nil
	}
	return m.file
}
