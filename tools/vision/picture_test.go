package vision

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"
)

// painted returns a picture of one colour.
func painted(w, h int, c color.Color) *image.Paletted {
	return image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{c})
}

func encoded(t *testing.T, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFitLeavesWhatFits(t *testing.T) {
	small := encoded(t, painted(40, 30, color.Black))
	got, err := Fit(small)
	if err != nil || got.Type != "image/png" || !bytes.Equal(got.Data, small) {
		t.Errorf("%s of %d bytes, %v", got.Type, len(got.Data), err)
	}
}

func TestFitScalesDown(t *testing.T) {
	var moving bytes.Buffer
	if err := gif.Encode(&moving, painted(3000, 1500, color.White), nil); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"transparent": encoded(t, painted(3000, 1500, color.Transparent)), "gif": moving.Bytes(),
	} {
		got, err := Fit(data)
		if err != nil || got.Type != "image/jpeg" {
			t.Errorf("%s: %s, %v", name, got.Type, err)
			continue
		}
		p, err := jpeg.Decode(bytes.NewReader(got.Data))
		if err != nil || p.Bounds().Dx() != goodSide || p.Bounds().Dy() != goodSide/2 {
			t.Errorf("%s: %v, %v", name, p, err)
			continue
		}
		if r, _, _, _ := p.At(10, 10).RGBA(); r < 0xf000 {
			t.Errorf("%s: red is %x of white", name, r)
		}
	}
	if got, err := Fit(encoded(t, painted(9000, 1, color.Black))); err != nil || got.Type != "image/jpeg" {
		t.Errorf("a line: %s, %v", got.Type, err)
	}
}

// TestFitRefuses: what cannot be read is refused, what would take too much memory before it is decoded.
func TestFitRefuses(t *testing.T) {
	bomb := encoded(t, painted(1, 1, color.Black))
	copy(bomb[16:], []byte{0x00, 0x00, 0xff, 0xff, 0x00, 0x00, 0xff, 0xff}) // its size; the checksum is not right any more
	cut := encoded(t, painted(3000, 3000, color.Black))
	for name, data := range map[string][]byte{
		"text": []byte("hello"), "nothing": nil, "bomb": bomb, "cut": cut[:len(cut)/2], "head": []byte("\x89PNG\r\n\x1a\n"),
		"webp": []byte("RIFF\x10\x00\x00\x00WEBPVP8 "), "large": encoded(t, painted(8000, 7000, color.Black)),
	} {
		if got, err := Fit(data); err == nil {
			t.Errorf("%s: %s of %d bytes", name, got.Type, len(got.Data))
		}
	}
}
