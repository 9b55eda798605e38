package telegram

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// What the Bot API says of files (core.telegram.org/bots/api#getfile).
const (
	maxDownload = 20 << 20  // the largest that bots get
	fileFor     = time.Hour // how long an address is good at least
)

// givenFile is a file that getFile has given an address to.
type givenFile struct {
	file  *sim.Upload
	until time.Time
}

func (m *message) fileID(c *chat) string { return "file-" + c.key() + "-" + strconv.Itoa(m.id) }

// getFile gives a file an address below /file/bot<token>/.
func (s *Server) getFile(_ *http.Request, p params) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := p["file_id"]
	if id == "" {
		return nil, badRequest("file_id not specified")
	}
	for _, c := range s.chats {
		for _, m := range c.messages {
			if m.file == nil || m.fileID(c) != id {
				continue
			}
			if m.file.Size > maxDownload {
				return nil, badRequest("file is too big")
			}
			path := "documents/file_" + strconv.Itoa(len(s.given)) + ".bin"
			s.given[path] = givenFile{m.file, time.Now().Add(fileFor)}
			return map[string]any{"file_id": id, "file_unique_id": id, "file_size": m.file.Size, "file_path": path}, nil
		}
	}
	return nil, badRequest("wrong file_id or the file is temporarily unavailable")
}

// serveFile serves /file/bot<token>/<path>. A fault's method for it is "file".
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	if token != s.opts.Token {
		answer(w, nil, &refusal{code: http.StatusUnauthorized, description: "Unauthorized"})
		return
	}
	if fault, faulty := s.faults.Take("file", ""); faulty && s.fail(w, r, fault) {
		return
	}
	s.mu.Lock()
	given, ok := s.given[path]
	s.mu.Unlock()
	if !ok || r.Method != http.MethodGet || time.Now().After(given.until) {
		answer(w, nil, &refusal{code: http.StatusNotFound, description: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(given.file.Data)
}
