// Package anthropic has the API mode that Anthropic has brought up: Messages. Results of tools go as blocks of user
// messages, thinking goes back signed as it came, and the prompt is marked for the cache.
//
// What holds for every mode, goroutines and errors included, is said in package provider.
package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/talaria-agent/talaria/loop/provider"
)

const (
	// DefaultBaseURL is used if the configuration names none.
	DefaultBaseURL = "https://api.anthropic.com/v1"
	// DefaultMaxOutput is how many tokens a reply may have if the request does not say: the API wants a number, and this
	// one is allowed for every model that is still served.
	DefaultMaxOutput = 8192
)

// Config says where a model is; see provider.Config.
type Config = provider.Config

// New checks the configuration and makes a model that is talked to by the Messages API.
func New(config Config) (*provider.Model, error) {
	if config.BaseURL == "" {
		config.BaseURL = DefaultBaseURL
	}
	return provider.New("messages", config, messages{config})
}

// base is the address that the library wants: it puts the version into the path itself.
func base(config Config) string {
	if config.BaseURL == "" {
		config.BaseURL = DefaultBaseURL
	}
	return strings.TrimSuffix(strings.TrimRight(config.BaseURL, "/"), "/v1") + "/"
}

// messages is the Messages mode.
type messages struct{ config Config }

// Send implements provider.Mode.
func (m messages) Send(x *provider.Exchange, c provider.Conversation, b *provider.Builder) error {
	options := []option.RequestOption{option.WithBaseURL(base(m.config)), option.WithHTTPClient(x), option.WithMaxRetries(0)}
	if m.config.APIKey != "" {
		options = append(options, option.WithAPIKey(m.config.APIKey))
	}
	service := sdk.NewMessageService(options...)
	stream := service.NewStreaming(x.Context(), m.request(c))
	defer stream.Close()
	blocks := blockAssembly{b: b, blocks: map[int64]*block{}}
	for stream.Next() {
		blocks.take(stream.Current())
	}
	return stream.Err()
}

// Frame implements provider.Mode. The library goes by the event's name, which some imitators leave out.
func (messages) Frame(to, event, data []byte) []byte {
	if len(event) == 0 {
		var d struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(data, &d) == nil {
			event = []byte(d.Type)
		}
	}
	return provider.AppendEvent(to, event, data)
}

// Whole implements provider.Mode. A whole message is read as if it were the beginning of a stream; see take.
func (messages) Whole(body []byte) []byte {
	var message struct {
		Type    string            `json:"type"`
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(body, &message) != nil || message.Type != "message" {
		return nil
	}
	return fmt.Appendf(nil, `{"type":"message_start","message":%s}`, body)
}
