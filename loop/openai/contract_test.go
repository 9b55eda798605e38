package openai

import (
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
)

func TestContractOfChat(t *testing.T) {
	modeltest.Run(t, func(c modeltest.Connection) (modeltest.Closer, error) {
		return New(Config{BaseURL: c.BaseURL, APIKey: c.APIKey, Dial: c.Dial, Model: "m"})
	})
}

func TestContractOfResponses(t *testing.T) {
	modeltest.Run(t, func(c modeltest.Connection) (modeltest.Closer, error) {
		return NewResponses(Config{BaseURL: c.BaseURL, APIKey: c.APIKey, Dial: c.Dial, Model: "gpt-5-test", Reasoning: loop.ReasoningEffort, Effort: "low"})
	})
}
