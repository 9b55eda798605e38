package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// mostShown bounds the pictures of one turn together, in bytes: in base64 they are four thirds of that, and a request has room
// for 32 MB with some providers.
const mostShown = 15 << 20

// describe is what a model is asked about a picture that the conversation's own cannot see.
const describe = "Describe this picture for somebody who cannot see it and has to answer questions about it. Say what it shows and " +
	"what matters in it. Write out all text in it word for word, and numbers, labels and error messages exactly."

var (
	errBlind   = errors.New("no model here can see pictures")
	errSilent  = errors.New("the model that looks at pictures did not answer")
	errMany    = errors.New("these are more pictures than a model can be shown at once")
	errChanged = errors.New("its file is not what came any more")
)

// isPicture tells whether models can be shown a file.
func (k kept) isPicture() bool {
	switch k.kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// look sees to it that the model gets to know what a picture shows: it is shown with its message if the model sees, otherwise
// another model describes it. It returns what the model gets to read of that.
func (t *turn) look(k kept, name string, b *brought) (told string) {
	if !k.isPicture() || t.c.g.parts.Fit == nil {
		return ""
	}
	unseen := func(err error) string {
		b.unseen = append(b.unseen, fmt.Sprintf("%s: %s", name, err))
		return fmt.Sprintf("\n[You cannot see it: %s. Say so if it matters.]", err)
	}
	sees, eyes := t.settings.Runner.Sees(), t.settings.Eyes
	if !sees && eyes == nil {
		return unseen(errBlind)
	}
	image, digest, err := t.fit(t.ctx, k.head)
	switch {
	case err != nil:
		return unseen(err)
	case sees:
		b.pictures = append(b.pictures, sessions.Picture{File: k.path, Digest: digest})
		return ""
	}
	text, err := eyes.Describe(t.ctx, describe, tools.Part{Image: image})
	if err != nil {
		t.c.g.log.Warn("a picture could not be described", "conversation", t.c.key, "error", err)
		return unseen(errSilent)
	}
	return "\n[You cannot see it. Another model has looked at it for you and says:]\n" + loop.FromOutside("picture", text)
}

// fit makes a picture fit for models and keeps it for the turn.
func (t *turn) fit(ctx context.Context, content []byte) (image tools.Image, digest string, err error) {
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	if image, ok := t.pictures[digest]; ok {
		return image, digest, nil
	}
	select { // a large one takes much memory for a moment
	case t.c.g.fitting <- struct{}{}:
	case <-ctx.Done():
		return tools.Image{}, "", context.Cause(ctx)
	}
	image, err = t.c.g.parts.Fit(content)
	<-t.c.g.fitting
	if err != nil {
		return tools.Image{}, "", err
	}
	if t.weight+len(image.Data) > mostShown {
		return tools.Image{}, "", errMany
	}
	t.weight += len(image.Data)
	t.pictures[digest] = image
	return image, digest, nil
}

// see is loop.Turn.See. What was fetched in an earlier process, or came with an exchange that is tried again, is read from the
// work folder.
func (t *turn) see(ctx context.Context, p sessions.Picture) (tools.Image, error) {
	if image, ok := t.pictures[p.Digest]; ok {
		return image, nil
	}
	content, err := t.read(p.File)
	if err != nil {
		return tools.Image{}, err
	}
	image, digest, err := t.fit(ctx, content)
	if err == nil && digest != p.Digest {
		err = errChanged
	}
	return image, err
}

// read reads a file that came with a message from the work folder.
func (t *turn) read(name string) ([]byte, error) {
	work, err := t.c.g.work(t.c.key)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", err)
	}
	defer root.Close()
	file, _, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	most := t.c.g.now().Files.MaxBytes
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = errChanged
	}
	return content, err
}

// openRegular opens a file for reading, and nothing that is none: commands may have put a pipe in its place, which would be
// waited for.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, nil, errors.Join(errChanged, err)
	}
	return file, info, nil
}

// brought is what came of the files of messages.
type brought struct {
	told         map[*input]string  // what the model gets to read of them, by message
	pictures     []sessions.Picture // what it is shown
	lost, unseen []string           // what could not be opened, or not be looked at, and why
}

// note is what the person has to know of it.
func (b *brought) note() (note string) {
	for _, m := range []struct {
		what string
		list []string
	}{{"open", b.lost}, {"look at", b.unseen}} {
		if len(m.list) > 0 {
			note += fmt.Sprintf("\n\n_I could not %s %s._", m.what, strings.Join(m.list, "; "))
		}
	}
	return note
}
