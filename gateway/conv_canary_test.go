package gateway_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/gateway"
)

const canary = gateway.Canary

// keepsSecrets looks for the canary wherever something of a script has gone: to people, to models, into the log, into the
// conversations, and into files, which are work folders, recordings and the folders of the ops tools.
func (r *rig) keepsSecrets(seen string) {
	r.absent("what people see", seen)
	r.absent("the gateway's log", r.log.String())
	for _, request := range r.model.asked {
		text, err := json.Marshal(request)
		if err != nil {
			r.t.Fatal(err)
		}
		r.absent("a request to the model", string(text))
	}
	for key, err := range r.store.Keys(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		for record, err := range r.store.History(context.Background(), key, 0) {
			if err != nil {
				r.t.Fatal(err)
			}
			text, err := record.Encode()
			if err != nil {
				r.t.Fatal(err)
			}
			r.absent("the conversation "+string(key), string(text))
		}
	}
	for _, folder := range []string{filepath.Dir(r.cfg.WorkRoot), r.recordings.Path} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil // a file that a script took away
			}
			text, err := os.ReadFile(path)
			r.absent(path, string(text))
			return err
		})
		if err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rig) absent(where, text string) {
	if strings.Contains(text, canary) {
		r.t.Errorf("a secret came into %s", where)
	}
}
