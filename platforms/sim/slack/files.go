package slack

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/platforms/sim"
)

func (m *message) fileID() string { return "F" + strings.ReplaceAll(m.ts, ".", "") }

// upload is the file object of a message's file (docs.slack.dev/reference/objects/file-object), as it is kept at a host.
func (m *message) upload(host string) object {
	address := host + "/files-pri/" + m.fileID() + "/" + url.PathEscape(m.file.Name)
	return object{
		"id": m.fileID(), "name": m.file.Name, "title": m.file.Name,
		"mimetype": m.file.Type, "filetype": "binary", "size": m.file.Size, "user": m.user, "mode": "hosted",
		"url_private": address, "url_private_download": address,
	}
}

// withFile finds the message of a file. The lock is held.
func (s *Server) withFile(id string) *message {
	for _, c := range s.chats {
		for _, m := range c.messages {
			if m.file != nil && m.fileID() == id {
				return m
			}
		}
	}
	return nil
}

func (s *Server) mayReadFiles() bool {
	return slices.Contains(strings.Split(s.cfg.Scopes, ","), "files:read")
}

// fileInfo is files.info.
func (s *Server) fileInfo(c *call) (object, *refusal) {
	if !s.mayReadFiles() {
		return nil, refuse("missing_scope")
	}
	m := s.withFile(c.arg("file"))
	if m == nil {
		return nil, refuse("file_not_found")
	}
	return object{"file": m.upload(c.host), "comments": []object{}, "paging": object{"count": 1, "total": 0, "page": 1, "pages": 0}}, nil
}

// serveFile serves a file to whoever has a token that may read it, and the login page to everybody else, with status 200
// as Slack does. A fault's method for it is "file".
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	fault, faulty := s.faults.Take("file", "")
	if fault.Delay > 0 && !pause(r, fault.Delay) || fault.Cut {
		sim.CutConnection()
	}
	if faulty && fault.Status != 0 {
		w.WriteHeader(fault.Status)
		return
	}
	s.mu.Lock()
	m := s.withFile(r.PathValue("id"))
	may := r.Header.Get("Authorization") == "Bearer "+s.cfg.BotToken && s.mayReadFiles() && !s.revoked
	s.mu.Unlock()
	switch {
	case !may:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><html><head><title>Login | Slack</title></head></html>"))
	case m == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", m.file.Type)
		_, _ = w.Write(m.file.Data)
	}
}
