package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
)

// AttachmentsFolder is where, in a conversation's work folder, the files are kept that people send.
const AttachmentsFolder = "attachments"

// Files bounds what is done with files that people send.
type Files struct {
	MaxBytes   int64 // the largest that is fetched
	PerMessage int   // how many of one message are fetched
	Inline     int   // the bytes of text, of all files of a message together, that the model is shown without asking
}

// DefaultFiles returns the usual bounds.
func DefaultFiles() Files { return Files{MaxBytes: 20 << 20, PerMessage: 10, Inline: 16 << 10} }

var errTooMany = errors.New("there are more files in one message than I open")

const (
	fetchTimeout  = 2 * time.Minute // for all files of one message
	fetchAttempts = 3
	fetchPatience = 10 * time.Second // the longest that a rate limit is waited for
)

// fetchable tells whether an attachment is a file that can be read.
func fetchable(a platforms.Attachment) bool {
	switch a.Kind {
	case "photo", "document", "audio", "voice", "video":
		return a.Ref != ""
	}
	return false
}

// fetchAll fetches the files of the turn's messages into the work folder and has pictures looked at. It happens before the
// record that claims the messages: what a crash or a newer message cuts short is fetched again, and lands in the same place.
func (t *turn) fetchAll(inputs []*input) brought {
	b := brought{told: map[*input]string{}}
	for _, in := range inputs {
		if len(in.Message.Attachments) > 0 {
			b.told[in] = t.fetch(in.Message, &b)
		}
	}
	return b
}

// fetch fetches the files of one message.
func (t *turn) fetch(m *platforms.Message, b *brought) string {
	ctx, cancel := context.WithTimeout(t.ctx, fetchTimeout)
	defer cancel()
	var parts []string
	fetched, inline := 0, t.c.g.now().Files.Inline
	for _, a := range m.Attachments {
		if !fetchable(a) {
			parts = append(parts, named(a))
			continue
		}
		name := safeName(a)
		var k kept
		err := errTooMany
		if fetched < t.c.g.now().Files.PerMessage {
			fetched++
			k, err = t.keep(ctx, a, name)
		}
		if err == nil {
			told, shown := k.told(a, inline)
			inline -= shown
			parts = append(parts, told+t.look(k, name, b))
			continue
		}
		why := t.c.g.whyNot(err)
		t.c.g.log.Warn("a file could not be fetched", "conversation", t.c.key, "kind", a.Kind, "error", err)
		parts = append(parts, fmt.Sprintf("[a %s came with it that could not be fetched: %q: %s]", a.Kind, name, why))
		b.lost = append(b.lost, fmt.Sprintf("%s: %s", name, why))
	}
	return strings.Join(parts, "\n")
}

// whyNot words for people and models why a file cannot be had.
func (g *Gateway) whyNot(err error) string {
	switch platforms.ClassOf(err) {
	case platforms.TooLong:
		return "it is larger than I may fetch (" + sized(g.now().Files.MaxBytes) + " at most, and no more than the platform gives to bots)"
	case platforms.Gone:
		return "it was deleted"
	case platforms.Forbidden, platforms.Fatal:
		return "the platform does not let me read it"
	case platforms.RateLimited, platforms.Transient:
		var e *platforms.Error
		switch {
		case errors.Is(err, errTooMany):
			return err.Error()
		case !errors.As(err, &e):
			return "it could not be kept here"
		}
		return "the platform did not give it to me; please send it again later"
	}
	return "the platform refused it"
}

// kept is a file in the work folder.
type kept struct {
	path string // below the work folder
	kind string // MIME type, by its content
	size int64
	head []byte // its first bytes
}

// keep fetches a file and keeps it under its name, or with a number if another file has that.
func (t *turn) keep(ctx context.Context, a platforms.Attachment, name string) (kept, error) {
	g := t.c.g
	fetcher, ok := g.adapters[t.address.Platform].(platforms.Fetcher)
	if !ok {
		return kept{}, &platforms.Error{Class: platforms.Forbidden, Op: "fetch a file"}
	}
	if a.Size > g.now().Files.MaxBytes {
		return kept{}, &platforms.Error{Class: platforms.TooLong, Op: "fetch a file"}
	}
	work, err := g.work(t.c.key)
	if err != nil {
		return kept{}, errors.Join(errors.New("there is no room for it"), err)
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return kept{}, fmt.Errorf("open the work folder: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(AttachmentsFolder, 0o700); err != nil {
		return kept{}, fmt.Errorf("make the folder of attachments: %w", err)
	}
	coming := path.Join(AttachmentsFolder, ".coming-"+newID())
	defer func() { _ = root.Remove(coming) }() // it is gone if all went well
	if err := g.download(ctx, root, coming, fetcher, a); err != nil {
		return kept{}, err
	}
	return settle(root, coming, name)
}

// download fetches into a file, more than once if that may help.
func (g *Gateway) download(ctx context.Context, root *os.Root, to string, from platforms.Fetcher, a platforms.Attachment) error {
	for attempt := 1; ; attempt++ {
		file, err := root.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("keep a file: %w", err)
		}
		err = from.Fetch(ctx, a, file, g.now().Files.MaxBytes)
		if closed := file.Close(); err == nil && closed != nil {
			return fmt.Errorf("keep a file: %w", closed)
		}
		class, wait := platforms.ClassOf(err), max(platforms.WaitOf(err), time.Duration(attempt)*time.Second)
		again := (class == platforms.Transient || class == platforms.RateLimited) && wait <= fetchPatience
		if err == nil || !again || attempt == fetchAttempts {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// settle gives a file that has come its name. One that is there already with the same content is the same file.
func settle(root *os.Root, coming, name string) (kept, error) {
	content, err := root.ReadFile(coming)
	if err != nil {
		return kept{}, fmt.Errorf("read the file that came: %w", err)
	}
	k := kept{size: int64(len(content)), head: content}
	k.kind, _, _ = strings.Cut(http.DetectContentType(content), ";")
	ext := path.Ext(name)
	for n := 1; n < 1000; n++ {
		k.path = path.Join(AttachmentsFolder, name)
		if n > 1 {
			k.path = path.Join(AttachmentsFolder, strings.TrimSuffix(name, ext)+"-"+strconv.Itoa(n)+ext)
		}
		err := root.Link(coming, k.path)
		if err == nil {
			return k, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return kept{}, fmt.Errorf("name the file that came: %w", err)
		}
		if same(root, k.path, content) {
			return k, nil
		}
	}
	return kept{}, errors.New("too many files have this name")
}

// same tells whether a file has this content.
func same(root *os.Root, name string, content []byte) bool {
	file, info, err := openRegular(root, name)
	if err != nil {
		return false
	}
	defer file.Close()
	if info.Size() != int64(len(content)) {
		return false
	}
	there, err := io.ReadAll(file)
	return err == nil && bytes.Equal(there, content)
}

// told is what the model gets to read of a file: where it is and, if it is a text, how it begins, as data. It also returns
// how much of the file that shows.
func (k kept) told(a platforms.Attachment, inline int) (told string, shown int) {
	head := fmt.Sprintf("[a %s came with it: %s, %s, %s]", a.Kind, k.path, k.kind, sized(k.size))
	text := k.head[:min(len(k.head), inline)]
	if len(text) < len(k.head) {
		for len(text) > 0 && !utf8.RuneStart(k.head[len(text)]) {
			text = text[:len(text)-1]
		}
	}
	switch {
	case len(text) == 0 || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return head, 0
	}
	more := ""
	if len(text) < len(k.head) {
		more = fmt.Sprintf("\n[only its first %s are shown; read the file for the rest]", sized(int64(len(text))))
	}
	return head + "\n" + loop.FromOutside("attachment", string(text)) + more, len(text)
}

// named is what the model gets to read of an attachment that is no file, or of a file that was not fetched.
func named(a platforms.Attachment) string {
	if fetchable(a) {
		return fmt.Sprintf("[a %s came with it, which is opened only when it comes with a request: %q]", a.Kind, a.Name)
	}
	return fmt.Sprintf("[a %s came with it: %q]", a.Kind, a.Name)
}

// safeName makes a file name of what somebody called a file: no path, nothing hidden, nothing that a terminal or a shell takes
// for something else.
func safeName(a platforms.Attachment) string {
	name := path.Base(strings.ReplaceAll(a.Name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r), strings.ContainsRune("._-+", r):
			return r
		default:
			return '_'
		}
	}, name)
	name = strings.TrimLeft(name, ".-_")
	const longest = 120 // bytes
	if ext := path.Ext(name); len(name) > longest && len(ext) < 20 {
		name = strings.ToValidUTF8(name[:longest-len(ext)], "") + ext
	} else if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "")
	}
	if name == "" {
		name = a.Kind + extension(a)
	}
	return name
}

// extension is that of a file without a name.
func extension(a platforms.Attachment) string {
	switch a.Type {
	case "image/jpeg":
		return ".jpg"
	case "image/png":
		return ".png"
	case "audio/ogg":
		return ".ogg"
	case "audio/mpeg":
		return ".mp3"
	case "video/mp4":
		return ".mp4"
	}
	return ""
}

// sized is a number of bytes for people.
func sized(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 1<<20:
		return strconv.FormatInt(n>>10, 10) + " KB"
	}
	return strconv.FormatInt(n>>20, 10) + " MB"
}
