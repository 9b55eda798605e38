package loop

import (
	"cmp"
	"slices"
	"time"
)

// Setup is what a Runner's decisions depend on, beside what comes from outside: enough to make another one that decides
// the same.
type Setup struct {
	Models     []string         `json:"models"` // in the order in which a turn that begins now asks them
	Limits     Limits           `json:"limits"`
	Compressor *CompressorSetup `json:"compressor,omitempty"` // nil = there is none
}

// CompressorSetup is the same of a Compressor.
type CompressorSetup struct {
	Window      int     `json:"window"` // tokens, without what is reserved for the reply
	PreflightAt float64 `json:"preflight_at,omitempty"`
	SummarizeAt float64 `json:"summarize_at,omitempty"`
	MaxMessages int     `json:"max_messages,omitempty"`
	Mute        bool    `json:"mute,omitempty"` // it has no model, and writes digests
}

// Setup returns the runner's setup as it is now.
func (r *Runner) Setup() Setup {
	s := Setup{Models: chainOf(r.Model).names(), Limits: r.Limits.orDefaults()}
	if c := r.Compressor; c != nil {
		s.Compressor = &CompressorSetup{
			Window: c.window, PreflightAt: c.PreflightAt, SummarizeAt: c.SummarizeAt, MaxMessages: c.MaxMessages, Mute: c.model == nil,
		}
	}
	return s
}

// Runner returns a runner of that setup whose models model makes of their names.
func (s Setup) Runner(model func(name string) Model) *Runner {
	var links []Link
	for _, name := range s.Models {
		links = append(links, Link{Model: model(name)})
	}
	r := &Runner{Model: NewChain(links...), Limits: s.Limits}
	if c := s.Compressor; c != nil {
		summariser := r.Model
		if c.Mute {
			summariser = nil
		}
		r.Compressor = NewCompressor(summariser, c.Window, 0)
		r.Compressor.PreflightAt, r.Compressor.SummarizeAt, r.Compressor.MaxMessages = c.PreflightAt, c.SummarizeAt, c.MaxMessages
	}
	return r
}

// names returns the names of the models, those that rest now behind the others.
func (c *Chain) names() []string {
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
	names := make([]string, len(order))
	for i, at := range order {
		names[i] = c.links[at].Model.Name()
	}
	return names
}
