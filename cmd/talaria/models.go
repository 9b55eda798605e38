package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/anthropic"
	"github.com/talaria-agent/talaria/loop/openai"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// messagesAPI is the one mode whose maker is another.
const messagesAPI = "messages"

const (
	// defaultWindow is assumed when nothing is known about the model, in tokens.
	defaultWindow = 128_000
	// What is kept free for a reply if the config does not say: as much as the model can write, within bounds.
	unknownOutput = 8_192
	mostOutput    = 32_000
)

// EndpointConfig says where one model is.
type EndpointConfig struct {
	API        string `toml:"api"`
	BaseURL    string `toml:"base_url"`
	APIKey     string `toml:"api_key"`
	APIKeyFile string `toml:"api_key_file"`
	Name       string `toml:"name"`
	Window     int    `toml:"window"`
	MaxOutput  int    `toml:"max_output"`
}

// AuxiliaryConfig has the models for tasks beside the conversation, each a list in the order of preference. An empty list
// means the main model and its fallbacks.
type AuxiliaryConfig struct {
	Compression []EndpointConfig `toml:"compression"`
	Vision      []EndpointConfig `toml:"vision"`
	Web         []EndpointConfig `toml:"web"`
	Approval    []EndpointConfig `toml:"approval"`
}

// ProfileConfig adds to what is known about models, or corrects it.
type ProfileConfig struct {
	Match           string         `toml:"match"`
	Window          int            `toml:"window"`
	MaxOutput       int            `toml:"max_output"`
	Vision          *bool          `toml:"vision"`
	InputPrice      float64        `toml:"input_price"`
	CachedPrice     float64        `toml:"cached_price"`
	OutputPrice     float64        `toml:"output_price"`
	Reasoning       loop.Reasoning `toml:"reasoning"`
	ReplayReasoning bool           `toml:"replay_reasoning"`
	MaxTurns        int            `toml:"max_turns"`
	MaxTokens       int            `toml:"max_tokens"`
	RepeatThreshold int            `toml:"repeat_threshold"`
}

// apiModes are the ways to talk to a model.
var apiModes = map[string]func(openai.Config) (loop.Model, error){
	"chat":      func(c openai.Config) (loop.Model, error) { return openai.New(c) },
	"responses": func(c openai.Config) (loop.Model, error) { return openai.NewResponses(c) },
	"messages":  func(c openai.Config) (loop.Model, error) { return anthropic.New(c) },
}

// endpoint returns where the main model is.
func (m *ModelConfig) endpoint() EndpointConfig {
	base := m.BaseURL
	if m.API == messagesAPI && base == defaultConfig().Model.BaseURL {
		base = "" // which means the maker's own
	}
	return EndpointConfig{
		API: m.API, BaseURL: base, APIKey: m.APIKey, APIKeyFile: m.APIKeyFile, Name: m.Name,
		Window: m.Window, MaxOutput: m.MaxOutput,
	}
}

// endpoints returns all models beside the main one, each with the key that it stands under.
func (c *Config) endpoints() map[string]*EndpointConfig {
	all := map[string]*EndpointConfig{}
	for key, list := range map[string][]EndpointConfig{
		"fallbacks": c.Fallbacks, "auxiliary.compression": c.Auxiliary.Compression,
		"auxiliary.vision": c.Auxiliary.Vision, "auxiliary.web": c.Auxiliary.Web,
		"auxiliary.approval": c.Auxiliary.Approval,
	} {
		for i := range list {
			all[fmt.Sprintf("%s[%d]", key, i)] = &list[i]
		}
	}
	return all
}

// profile returns what is known about a model.
func (c *Config) profile(model string) (loop.Profile, error) {
	builtin, err := loop.BuiltinProfiles()
	if err != nil {
		return loop.Profile{}, err
	}
	known := loop.FindProfile(model, builtin)
	own := make([]loop.Profile, len(c.Profiles))
	for i, p := range c.Profiles {
		own[i] = p.profile(known)
	}
	mine := loop.FindProfile(model, own)
	if mine.Match == "" {
		return known, nil
	}
	if mine.Window == 0 {
		mine.Window, mine.Assumed = known.Window, known.Assumed
	}
	if mine.MaxOutput == 0 {
		mine.MaxOutput = known.MaxOutput
	}
	if mine.Reasoning == "" {
		mine.Reasoning = known.Reasoning
	}
	if mine.OutputPrice == 0 {
		mine.InputPrice, mine.CachedPrice, mine.OutputPrice = known.InputPrice, known.CachedPrice, known.OutputPrice
	}
	return mine, nil
}

// price returns what a usage of a model costs in US dollars, and whether that is known.
func (c *Config) price(model string, u sessions.Usage) (usd float64, known bool) {
	p, err := c.profile(model)
	if err != nil { // it would have failed when the models were made
		return 0, false
	}
	return p.Cost(u)
}

// profile returns what the config says of a model. Whether it sees may be known.
func (p ProfileConfig) profile(known loop.Profile) loop.Profile {
	vision := known.Vision
	if p.Vision != nil {
		vision = *p.Vision
	}
	return loop.Profile{
		Match: strings.ToLower(p.Match), Window: p.Window, MaxOutput: p.MaxOutput, Vision: vision,
		InputPrice: p.InputPrice, CachedPrice: p.CachedPrice, OutputPrice: p.OutputPrice,
		Reasoning: p.Reasoning, ReplayReasoning: p.ReplayReasoning,
		MaxTurns: p.MaxTurns, MaxTokens: p.MaxTokens, RepeatThreshold: p.RepeatThreshold,
	}
}

// fitModel fills in how large the main model's window and replies are, as far as the config does not say. It reports
// whether the window is a guess.
func (c *Config) fitModel() (guessed bool, err error) {
	p, err := c.profile(c.Model.Name)
	if err != nil {
		return false, err
	}
	if c.Model.Window == 0 {
		c.Model.Window, guessed = p.Window, p.Window == 0 || p.Assumed
		if p.Window == 0 {
			c.Model.Window = defaultWindow
		}
	}
	if c.Model.MaxOutput == 0 {
		if c.Model.MaxOutput = min(p.MaxOutput, mostOutput, c.Model.Window/8); p.MaxOutput == 0 {
			c.Model.MaxOutput = min(unknownOutput, c.Model.Window/8)
		}
	}
	return guessed, nil
}

// models are the chains of models, by what they are for.
type models struct {
	main        *loop.Chain
	compression *loop.Chain
	vision      tools.Describer // looks at pictures; nil = no model sees
	web         tools.Describer // reads pages that are too long
	approval    *loop.Judge     // looks at calls before people are asked
}

// wireModels makes the chains. What has models of its own falls back on the main model last. observe is told of every
// call; nil = nobody.
func wireModels(cfg *Config, observe func(loop.Called)) (models, error) {
	if cfg.Model.Name == "" {
		return models{}, errors.New("no model is named: set model.name in config.toml, or TALARIA_MODEL")
	}
	links, err := wireLinks(cfg, "model", append([]EndpointConfig{cfg.Model.endpoint()}, cfg.Fallbacks...), cfg.Model.Reasoning)
	if err != nil {
		return models{}, err
	}
	main := loop.NewChain(links...)
	main.Observe = observe
	chain := func(key string, own []EndpointConfig) *loop.Chain {
		if len(own) == 0 || err != nil {
			return main
		}
		var links []loop.Link
		links, err = wireLinks(cfg, key, own, "")
		c := loop.NewChain(append(links, loop.Link{Model: main})...)
		c.Observe = observe
		return c
	}
	m := models{
		main:        main,
		compression: chain("auxiliary.compression", cfg.Auxiliary.Compression),
		web:         loop.NewDescriber(chain("auxiliary.web", cfg.Auxiliary.Web), 0),
		approval:    loop.NewJudge(chain("auxiliary.approval", cfg.Auxiliary.Approval), 0),
	}
	if err != nil {
		return models{}, err
	}
	eyes, err := wireLinks(cfg, "auxiliary.vision", cfg.Auxiliary.Vision, "")
	for i := range eyes {
		eyes[i].Profile.Vision = true // which is why it stands there
	}
	if eyes = append(eyes, seeing(links)...); len(eyes) > 0 {
		c := loop.NewChain(eyes...)
		c.Observe = observe
		m.vision = loop.NewDescriber(c, 0)
	}
	return m, err
}

// seeing returns the models that see pictures.
func seeing(links []loop.Link) (all []loop.Link) {
	for _, l := range links {
		if l.Profile.Vision {
			all = append(all, l)
		}
	}
	return all
}

// wireLinks makes links; effort is how much their models think, where they can be told.
func wireLinks(cfg *Config, key string, endpoints []EndpointConfig, effort string) ([]loop.Link, error) {
	var links []loop.Link
	for _, e := range endpoints {
		profile, err := cfg.profile(e.Name)
		if err != nil {
			return nil, err
		}
		model, err := newModel(e, profile, effort)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		link := loop.Link{Model: model, Profile: profile}
		if e.Window > 0 {
			link.Profile.Window = e.Window
		}
		if e.MaxOutput > 0 {
			link.Profile.MaxOutput = e.MaxOutput
		}
		if e.APIKeyFile != "" {
			link.Reload = func(context.Context) (loop.Model, error) {
				text, err := os.ReadFile(e.APIKeyFile)
				if err != nil {
					return nil, err
				}
				e := e
				e.APIKey = strings.TrimSpace(string(text))
				return newModel(e, profile, effort)
			}
		}
		links = append(links, link)
	}
	return links, nil
}

func newModel(e EndpointConfig, p loop.Profile, effort string) (loop.Model, error) {
	connect, ok := apiModes[e.mode()]
	if !ok {
		return nil, fmt.Errorf("there is no API mode %q", e.API)
	}
	return connect(openai.Config{
		BaseURL: e.BaseURL, APIKey: e.APIKey, Model: e.Name, ReplayReasoning: p.ReplayReasoning,
		Reasoning: p.Reasoning, Effort: effort, MostOutput: p.MaxOutput,
	})
}

// mode returns the API mode, chat completions if none is named.
func (e EndpointConfig) mode() string {
	if e.API == "" {
		return "chat"
	}
	return e.API
}
