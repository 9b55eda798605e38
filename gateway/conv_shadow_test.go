package gateway_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/shadow"
)

// inShadow puts the adapter into shadow where the script says so.
func (r *rig) inShadow(a platforms.Adapter, log *slog.Logger) (platforms.Adapter, error) {
	if r.shadow == "" {
		return a, nil
	}
	file, err := shadow.Open(r.shadowFile(), 1<<20)
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { _ = file.Close() })
	return shadow.Wrap(a, []string{r.shadow}, file, log)
}

func (r *rig) shadowFile() string { return filepath.Join(r.cfg.WorkRoot+"-shadow", "shadow.jsonl") }

// shadowed tells whether a line of the shadow file contains all these words.
func (r *rig) shadowed(text string) error {
	r.settle()
	data, err := os.ReadFile(r.shadowFile())
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		missing := false
		for word := range strings.FieldsSeq(text) {
			missing = missing || !strings.Contains(line, word)
		}
		if !missing {
			return nil
		}
	}
	return fmt.Errorf("the file holds\n%s", data)
}
