package loop

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

//go:embed profiles.json
var profilesJSON []byte

// Reasoning says how a model is told how much to think.
type Reasoning string

const (
	// ReasoningEffort: by a word. These models, OpenAI's, have encrypted reasoning to give, and take the output limit of
	// a chat completion under its newer name only, which most imitators do not know.
	ReasoningEffort Reasoning = "effort"
	// ReasoningBudget: by a number of tokens, in the Messages API.
	ReasoningBudget Reasoning = "budget"
	// ReasoningAdaptive: by a word, in the Messages API. The model decides about the rest itself.
	ReasoningAdaptive Reasoning = "adaptive"
)

// Profile is what must be known about a model. Zero values mean: not known, or no difference to other models. What the
// built-in profiles say comes from the catalogue github.com/anomalyco/models.dev as it was in 2026, but for what is marked as
// assumed, which has no prices. Prices change, so take them as a guide.
type Profile struct {
	Match     string `json:"match"`      // pattern of the model's name, as path.Match has it, in small letters
	Window    int    `json:"window"`     // tokens that fit into its context, the reply included
	MaxOutput int    `json:"max_output"` // tokens that one reply may have at most
	// Assumed says that nobody has confirmed the two: a pattern for a whole family has what its known members have at least.
	Assumed bool `json:"assumed"`

	InputPrice  float64 `json:"input_price"`  // US dollars for a million tokens
	CachedPrice float64 `json:"cached_price"` // of input from the provider's cache
	OutputPrice float64 `json:"output_price"`

	Vision bool `json:"vision"` // it sees pictures

	Reasoning       Reasoning `json:"reasoning"`        // how it is told how much to think; empty = it is not
	ReplayReasoning bool      `json:"replay_reasoning"` // it wants its plain reasoning text back within a task

	// Limits for turns that this model runs, in the place of the configured ones.
	MaxTurns        int `json:"max_turns"`
	MaxTokens       int `json:"max_tokens"`
	RepeatThreshold int `json:"repeat_threshold"`
}

// BuiltinProfiles returns the profiles of well-known models.
func BuiltinProfiles() ([]Profile, error) {
	var all []Profile
	if err := json.Unmarshal(profilesJSON, &all); err != nil {
		return nil, fmt.Errorf("read built-in profiles: %w", err)
	}
	return all, nil
}

// FindProfile returns the profile of a model: the one with the longest pattern that matches its name, a whole name
// before a pattern, from the first list that has one. What a router puts before a slash does not count. The zero profile means that there is none.
func FindProfile(model string, lists ...[]Profile) Profile {
	full := strings.ToLower(model)
	short := full[strings.LastIndexByte(full, '/')+1:]
	for _, list := range lists {
		var best Profile
		for _, p := range list {
			whole, _ := path.Match(p.Match, full)
			part, _ := path.Match(p.Match, short)
			if (whole || part) && closeness(p.Match) > closeness(best.Match) {
				best = p
			}
		}
		if best.Match != "" {
			return best
		}
	}
	return Profile{}
}

// closeness ranks patterns that match the same name.
func closeness(pattern string) int {
	literal := strings.ReplaceAll(pattern, "*", "")
	if literal == pattern {
		return 2*len(pattern) + 1
	}
	return 2 * len(literal)
}

// Apply returns limits with those of the profile in their place.
func (p Profile) Apply(l Limits) Limits {
	set := func(v *int, to int) {
		if to > 0 {
			*v = to
		}
	}
	set(&l.MaxTurns, p.MaxTurns)
	set(&l.MaxTokens, p.MaxTokens)
	set(&l.RepeatThreshold, p.RepeatThreshold)
	return l
}

// Cost returns what a usage costs in US dollars, and whether the prices are known.
func (p Profile) Cost(u sessions.Usage) (usd float64, known bool) {
	if p.InputPrice == 0 && p.OutputPrice == 0 {
		return 0, false
	}
	cached := p.CachedPrice
	if cached == 0 {
		cached = p.InputPrice
	}
	return (float64(u.Input-u.Cached)*p.InputPrice + float64(u.Cached)*cached + float64(u.Output)*p.OutputPrice) / 1e6, true
}
