package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// memory is what a server listed last, in a file, so that its tools are declared at the next start before it is connected.
type memory struct {
	From  string      `json:"from"` // names where it was reached; elsewhere may be another server
	Tools []*sdk.Tool `json:"tools"`
}

// from names where the server is, without what of that may be secret.
func (s *server) from() string {
	sum := sha256.Sum256([]byte(strings.Join(s.Command, "\x00") + "\x01" + s.URL))
	return hex.EncodeToString(sum[:16])
}

func (s *server) file() string { return filepath.Join(s.o.Folder, s.Name+".json") }

// recall returns what the server listed before the program was started, nil if nobody knows.
func (s *server) recall() ([]*sdk.Tool, error) {
	if s.o.Folder == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.file(), err)
	}
	if m.From != s.from() {
		return nil, nil
	}
	s.kept = text
	return m.Tools, nil
}

// remember writes down what the server lists, if that is something else than before.
func (s *server) remember(listed []*sdk.Tool) error {
	if s.o.Folder == "" {
		return nil
	}
	text, err := json.Marshal(memory{From: s.from(), Tools: listed})
	if err != nil || bytes.Equal(text, s.kept) {
		return err
	}
	if err := os.MkdirAll(s.o.Folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.file()+".new", text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(s.file()+".new", s.file()); err != nil {
		return err
	}
	s.kept = text
	return nil
}
