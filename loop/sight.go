package loop

import (
	"context"

	"github.com/talaria-agent/talaria/sessions"
)

// blindHint tells a model that does not see about the pictures of a turn, which another model may have been shown.
const blindHint = "\n\nPictures came with this task, and you cannot see them, only where their files are. Do not guess what is on them."

// show adds the pictures that came with the turn's own messages to a request, if the model sees; if it does not, it is told.
// Whatever came with earlier turns is not shown any more: it would have to be paid for with every request.
func (t *turn) show(ctx context.Context, s *sessions.Session, req *Request) {
	with := 0 // messages of the turn that have pictures
	for _, m := range s.Messages[min(s.Turn.From, len(s.Messages)):] {
		if len(m.Pictures) > 0 {
			with++
		}
	}
	if with == 0 {
		return
	}
	if !t.route.profile().Vision {
		req.Hint += blindHint
		return
	}
	at := len(req.Messages) // of the first of them: a repaired or flattened ledger has them elsewhere
	for i := len(req.Messages) - 1; i >= 0 && with > 0; i-- {
		if len(req.Messages[i].Pictures) > 0 {
			at, with = i, with-1
		}
	}
	for i := at; i < len(req.Messages) && t.See != nil; i++ {
		for _, p := range req.Messages[i].Pictures {
			image, err := t.See(ctx, p)
			if err != nil {
				t.log.Warn("a picture is not shown to the model", "file", p.File, "err", err)
				continue
			}
			req.Images = append(req.Images, Image{Image: image, At: i})
		}
	}
}
