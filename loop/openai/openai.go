// Package openai has the two API modes that OpenAI has brought up, for it and for the many servers that imitate them:
// chat completions (New) and Responses (NewResponses). The servers differ in what they leave out, so replies are read
// leniently and requests are worded strictly.
//
// What holds for every mode, goroutines and errors included, is said in package provider.
package openai

import (
	"bytes"
	"errors"
	"io"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
)

// DefaultBaseURL is used if the configuration names none.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says where a model is; see provider.Config.
type Config = provider.Config

// New checks the configuration and makes a model that is talked to by chat completions.
func New(config Config) (*provider.Model, error) {
	config = located(config)
	return provider.New("chat", config, completions{config, &declared{}})
}

// NewResponses checks the configuration and makes a model that is talked to by the Responses API.
func NewResponses(config Config) (*provider.Model, error) {
	config = located(config)
	return provider.New("responses", config, responsesMode{config})
}

func located(config Config) Config {
	if config.BaseURL == "" {
		config.BaseURL = DefaultBaseURL
	}
	return config
}

// completions is the chat completions mode.
type completions struct {
	config   Config
	declared *declared
}

// Send implements provider.Mode.
func (m completions) Send(x *provider.Exchange, c provider.Conversation, b *provider.Builder) error {
	config := chat.DefaultConfig(m.config.APIKey)
	config.BaseURL = m.config.BaseURL
	config.HTTPClient = wording{x, c, m.declared}
	stream, err := chat.NewClientWithConfig(config).CreateChatCompletionStream(x.Context(), m.request(c))
	if err != nil {
		if isRefusal(err) {
			return provider.BadRequest("the request was not sent: %w", err)
		}
		return err
	}
	defer stream.Close()

	a := assembly{Builder: b}
	defer func() { a.reasoning.keep(b, m.config.ReplayReasoning) }()
	for {
		raw, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			if x.SawDone() && b.Begun() {
				b.Finish(loop.FinishStop) // some servers give no reason
			}
			return nil
		}
		if err == nil {
			err = a.add(raw)
		}
		if err != nil {
			return err
		}
	}
}

// Frame implements provider.Mode. The space keeps go-openai from recognising an error by its first bytes: it would wait
// for one more line before it says so.
func (completions) Frame(to, _, data []byte) []byte {
	if rest, ok := bytes.CutPrefix(data, []byte("{")); ok {
		to = append(append(to, "data: { "...), rest...)
	} else {
		to = append(append(to, "data: "...), data...)
	}
	return append(to, '\n')
}

// Whole implements provider.Mode. A whole completion is read as if it were the only chunk of a stream.
func (completions) Whole(body []byte) []byte {
	if !hasList(body, "choices") {
		return nil
	}
	return body
}

// isRefusal tells whether go-openai itself refused to send a request: it knows what some models do not take.
func isRefusal(err error) bool {
	for _, known := range []error{
		chat.ErrChatCompletionInvalidModel, chat.ErrReasoningModelMaxTokensDeprecated,
		chat.ErrReasoningToolsRequireResponses, chat.ErrReasoningEffortUnsupported,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
