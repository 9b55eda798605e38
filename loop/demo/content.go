package demo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// maxImage is the largest picture that is taken, in bytes as they are sent: Anthropic's limit, the smallest of all.
const maxImage = 5 << 20

// Content is what a message says, sent as a string or in parts.
type Content struct {
	Text   string
	Images []Image
}

// Image is a picture in a message.
type Image struct {
	Type string // image/png, image/jpeg, image/gif or image/webp
	Data []byte
}

func (c *Content) add(d Content) {
	c.Text += d.Text
	c.Images = append(c.Images, d.Images...)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.Text) == nil {
		return nil
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		} `json:"image_url"`
	}
	if err := strictly(raw, &parts); err != nil {
		return errors.New("content must be a string or a list of parts")
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			c.Text += p.Text
		case "image_url":
			if err := c.look(p.Image.URL); err != nil {
				return err
			}
		default:
			return errors.New("this model reads only parts of type text and image_url")
		}
	}
	return nil
}

// look adds the picture of a data URL. Pictures at other addresses are not fetched.
func (c *Content) look(url string) error {
	kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		return badRequest("Invalid image: expected a data URL with base64.")
	}
	return c.lookAt(kind, data)
}

// lookAt adds a picture.
func (c *Content) lookAt(kind, encoded string) error {
	data, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case len(encoded) > maxImage:
		return badRequest("image exceeds 5 MB maximum: %d bytes > %d bytes", len(encoded), maxImage)
	case err != nil || len(data) == 0:
		return badRequest("The image data is not valid base64.")
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return badRequest("media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
	case http.DetectContentType(data) != kind:
		return badRequest("The image was specified using the %s media type, but the image appears to be a %s image", kind, http.DetectContentType(data))
	}
	c.Images = append(c.Images, Image{Type: kind, Data: data})
	return nil
}
