package anthropic

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/loop/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	modeltest.Run(t, func(c modeltest.Connection) (modeltest.Closer, error) {
		return New(Config{BaseURL: c.BaseURL, APIKey: c.APIKey, Dial: c.Dial, Model: "claude-sonnet-4-5", Reasoning: loop.ReasoningBudget, Effort: provider.EffortLow})
	})
}
