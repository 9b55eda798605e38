package loop

import (
	"cmp"
	"slices"
	"time"
)

// Setup is what a Runner's decisions depend on, beside what comes from outside: enough to make another one that decides
// the same.
type Setup struct {
	Models     []string         `json:"models"`          // in the order in which a turn that begins now asks them
	Sizes      []Size           `json:"sizes,omitempty"` // of the models, in the same order
	Limits     Limits           `json:"limits"`
	Compressor *CompressorSetup `json:"compressor,omitempty"` // nil = there is none
}

// Size is what of a model's profile a turn's requests depend on: tokens, 0 = not known, and whether it sees pictures.
type Size struct {
	Window    int  `json:"window,omitempty"`
	MaxOutput int  `json:"max_output,omitempty"`
	Vision    bool `json:"vision,omitempty"`
}

// CompressorSetup is the same of a Compressor.
type CompressorSetup struct {
	Window      int     `json:"window"` // tokens, without what is reserved for the reply
	PreflightAt float64 `json:"preflight_at,omitempty"`
	SummarizeAt float64 `json:"summarize_at,omitempty"`
	MaxMessages int     `json:"max_messages,omitempty"`
	Mute        bool    `json:"mute,omitempty"` // it has no model, and writes digests
	// The models that write summaries and take notes, in order, and their sizes. None = those of the turn.
	Models []string `json:"models,omitempty"`
	Sizes  []Size   `json:"sizes,omitempty"`
}

// Setup returns the runner's setup as it is now.
func (r *Runner) Setup() Setup {
	s := Setup{Limits: r.Limits.orDefaults()}
	s.Models, s.Sizes = namesAndSizes(r.Model)
	if c := r.Compressor; c != nil {
		s.Compressor = &CompressorSetup{
			Window: c.window, PreflightAt: c.PreflightAt, SummarizeAt: c.SummarizeAt, MaxMessages: c.MaxMessages, Mute: c.model == nil,
		}
		if c.model != nil {
			s.Compressor.Models, s.Compressor.Sizes = namesAndSizes(c.model)
		}
	}
	return s
}

// namesAndSizes returns the names and sizes of a model's chain.
func namesAndSizes(m Model) (names []string, sizes []Size) {
	for _, l := range chainOf(m).order() {
		names = append(names, l.Model.Name())
		sizes = append(sizes, Size{l.Profile.Window, l.Profile.MaxOutput, l.Profile.Vision})
	}
	return names, sizes
}

// chain makes a chain of what namesAndSizes returns.
func chain(names []string, sizes []Size, model func(name string) Model) *Chain {
	var links []Link
	for i, name := range names {
		l := Link{Model: model(name)}
		if i < len(sizes) {
			l.Profile = Profile{Window: sizes[i].Window, MaxOutput: sizes[i].MaxOutput, Vision: sizes[i].Vision}
		}
		links = append(links, l)
	}
	return NewChain(links...)
}

// Runner returns a runner of that setup whose models model makes of their names.
func (s Setup) Runner(model func(name string) Model) *Runner {
	r := &Runner{Model: chain(s.Models, s.Sizes, model), Limits: s.Limits}
	if c := s.Compressor; c != nil {
		summariser := r.Model
		switch {
		case c.Mute:
			summariser = nil
		case len(c.Models) > 0:
			summariser = chain(c.Models, c.Sizes, model)
		}
		r.Compressor = NewCompressor(summariser, c.Window, 0)
		r.Compressor.PreflightAt, r.Compressor.SummarizeAt, r.Compressor.MaxMessages = c.PreflightAt, c.SummarizeAt, c.MaxMessages
	}
	return r
}

// order returns the links, those that rest now behind the others.
func (c *Chain) order() []Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	order, now := make([]int, len(c.links)), time.Now()
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if !c.resting[i].After(now) && !c.resting[j].After(now) {
			return 0
		}
		return cmp.Or(c.resting[i].Compare(c.resting[j]), cmp.Compare(i, j))
	})
	links := make([]Link, len(order))
	for i, at := range order {
		links[i] = c.links[at]
	}
	return links
}
