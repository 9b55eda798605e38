package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

const (
	maxDiff  = 6000      // bytes that are shown
	diffedTo = 512 << 10 // bytes of a file that is compared line by line
)

// Diff tells, in Markdown, how the work folder differs from what it was before the nth last turn that could change it,
// and which other moments there are.
func (s *Store) Diff(ctx context.Context, conversation, work string, n int) (string, error) {
	defer s.lock(conversation)()
	all, err := s.points(conversation)
	if err != nil {
		return "", err
	}
	p, text := back(all, n)
	if p == nil {
		return text, nil
	}
	now, err := s.look(ctx, work, all[len(all)-1].left(), nil)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", fmt.Errorf("open the work folder: %w", err)
	}
	defer root.Close()
	var b strings.Builder
	changed := p.Files.differing(now)
	shown := 0
	for _, path := range changed {
		part := s.compare(root, path, p.Files, now, s.blobs(conversation))
		if b.Len()+len(part) > maxDiff {
			break
		}
		b.WriteString(part)
		shown++
	}
	switch {
	case len(changed) == 0:
		fmt.Fprintf(&b, "The files are as they were %s.\n", p.when())
	case shown < len(changed):
		fmt.Fprintf(&b, "Too long to show, or left out behind that: %s.\n", names(changed[shown:]))
	}
	if len(all) > 1 {
		b.WriteString("\nI can go back to:\n\n")
		for i := range all {
			fmt.Fprintf(&b, "%d. %s\n", i+1, all[len(all)-1-i].when())
		}
	}
	return b.String(), nil
}

// compare shows how one file differs.
func (s *Store) compare(root *os.Root, path string, then, now snapshot, blobs *blobs) string {
	before, was := then[path]
	after, is := now[path]
	what := "changed"
	switch {
	case !was:
		what = "new"
	case !is:
		what = "deleted"
	}
	line := fmt.Sprintf("`%s`: %s", strings.ReplaceAll(path, "`", "'"), what)
	plain := func(f file) bool { return f.Link == "" && f.Size <= diffedTo }
	if s.options.Secret != nil && s.options.Secret(path) {
		return line + "; it holds credentials, so it is not shown\n\n"
	}
	if was && !plain(before) || is && !plain(after) {
		return line + "\n\n"
	}
	var old, fresh []byte
	var err error
	if was {
		old, err = blobs.get(before.Hash)
	}
	if is && err == nil {
		fresh, err = read(root, path)
	}
	if err != nil || bytes.IndexByte(old, 0) >= 0 || bytes.IndexByte(fresh, 0) >= 0 {
		return line + "\n\n"
	}
	text := string(diff.Diff("before", old, "now", fresh))
	if _, hunks, ok := strings.Cut(text, "\n@@"); ok {
		text = "@@" + hunks
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%s\n%sdiff\n%s\n%s\n\n", line, fence, strings.TrimSuffix(text, "\n"), fence)
}
