// Package vision makes pictures fit for models, and has the tool that asks a model about one.
//
// It starts no goroutine. What it decodes comes from strangers, so sizes are looked at before anything is decoded, and a
// decoder that panics only makes its picture unreadable.
package vision

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // the kinds that can be scaled down
	"image/jpeg"
	_ "image/png"
	"net/http"
	"slices"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"

	"github.com/talaria-agent/talaria/tools"
)

// What models take. Anthropic's limits are the tightest: 5 MB in base64, and 2,000 pixels where a request has many pictures;
// it scales what is longer than 1,568 pixels down to that by itself.
const (
	maxBytes  = 3_700_000
	maxSide   = 2_000
	goodSide  = 1_568
	maxPixels = 50_000_000 // that are decoded: four bytes of memory each
	quality   = 85         // of a JPEG
)

var (
	errUnreadable = errors.New("it is damaged, or no PNG, JPEG, GIF or WebP")
	errTooLarge   = fmt.Errorf("it has more than %d megapixels", maxPixels/1_000_000)
)

// Fit returns a picture as models take it: as it is if it is small enough, otherwise scaled down and as a JPEG. Of something
// that moves and is scaled the first frame counts. An error says for people why it cannot be shown.
func Fit(data []byte) (fit tools.Image, err error) {
	defer func() {
		if recover() != nil {
			fit, err = tools.Image{}, errUnreadable
		}
	}()
	kind := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return tools.Image{}, errUnreadable
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil || size.Width <= 0 || size.Height <= 0:
		return tools.Image{}, errUnreadable
	case size.Width > maxPixels/size.Height:
		return tools.Image{}, errTooLarge
	case len(data) <= maxBytes && max(size.Width, size.Height) <= maxSide:
		return tools.Image{Type: kind, Data: data}, nil
	}
	whole, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return tools.Image{}, errUnreadable
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, scaled(whole), &jpeg.Options{Quality: quality}); err != nil {
		return tools.Image{}, fmt.Errorf("it cannot be scaled down: %w", err)
	}
	if out.Len() > maxBytes {
		return tools.Image{}, errors.New("it is too large for a model, scaled down, too")
	}
	return tools.Image{Type: "image/jpeg", Data: out.Bytes()}, nil
}

// scaled returns a picture whose sides are short enough, on white where one can see through it.
func scaled(whole image.Image) image.Image {
	w, h := whole.Bounds().Dx(), whole.Bounds().Dy()
	if longest := max(w, h); longest > goodSide {
		w, h = max(1, w*goodSide/longest), max(1, h*goodSide/longest)
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.BiLinear.Scale(small, small.Bounds(), whole, whole.Bounds(), draw.Over, nil)
	return small
}
