package tools

import "context"

// Describer asks a model beside the conversation about something that a tool has in hand: a picture that the
// conversation's own model cannot see, a page that is too long for it. What comes back is a model's text about material
// that nobody vouches for, so it is no more to be trusted than that.
type Describer interface {
	// Describe answers a question about the parts. It may be used from any goroutine as long as the call that it is made
	// for runs, with that call's context: what it uses counts as the turn's. An error that may pass is a *Trouble.
	Describe(ctx context.Context, question string, parts ...Part) (string, error)
}

// Part is a text or a picture.
type Part struct {
	Text  string // of a text
	Image Image  // of a picture
}

// Image is a picture as models take it.
type Image struct {
	Type string // image/png, image/jpeg, image/gif or image/webp
	Data []byte // at most about 3.7 MB, which is 5 MB in base64, the smallest limit of all providers
}
