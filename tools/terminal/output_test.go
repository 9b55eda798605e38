package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestOutputKeepsEverything writes outputs of any size in pieces of any size.
func TestOutputKeepsEverything(t *testing.T) {
	work := t.TempDir()
	root, err := os.OpenRoot(work)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	rapid.Check(t, func(t *rapid.T) {
		o := newOutput(root, "1")
		defer o.close()
		var all []byte
		for _, size := range rapid.SliceOf(rapid.IntRange(0, 40_000)).Draw(t, "sizes") {
			piece := bytes.Repeat([]byte{byte('a' + len(all)%23)}, size)
			all = append(all, piece...)
			o.Write(piece)
		}
		if len(all) <= headBytes+tailBytes {
			if got := append(bytes.Clone(o.head), o.tail...); !bytes.Equal(got, all) || o.file != nil {
				t.Fatalf("kept %d of %d bytes, file %v", len(got), len(all), o.file)
			}
			return
		}
		tail := o.tail[len(o.tail)-tailBytes:]
		if !bytes.Equal(o.head, all[:headBytes]) || !bytes.Equal(tail, all[len(all)-tailBytes:]) || len(o.tail) > 2*tailBytes {
			t.Fatal("head or tail is wrong")
		}
		whole, err := os.ReadFile(filepath.Join(work, o.name))
		if err != nil || !bytes.Equal(whole, all) {
			t.Fatalf("the file has %d of %d bytes: %v", len(whole), len(all), err)
		}
	})
}
