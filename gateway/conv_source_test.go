package gateway_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

// shop is a source of tools with two servers. One can be reached, and has its second tool only once the first was called.
type shop struct {
	mu      sync.Mutex
	tools   []tools.Tool
	version uint64
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{version: 1}
	made := func(name string, risk tools.Risk, call func() string) tools.Tool {
		type noArgs struct{}
		tool, err := tools.New(tools.Spec{Name: name, Toolset: "mcp", Description: "Of the shop.", Risk: risk, Untrusted: true},
			func(context.Context, tools.Scope, noArgs) (tools.Result, error) {
				return tools.Result{Text: call()}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	order := made("mcp_shop_order", tools.Outside, func() string { return "ordered" })
	s.tools = []tools.Tool{made("mcp_shop_open", tools.ReadOnly, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.version == 1 {
			s.tools, s.version = append(slices.Clone(s.tools), order), 2
		}
		return "opened"
	})}
	return s
}

func (s *shop) Tools() ([]tools.Tool, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.version
}

func (s *shop) Missing() []tools.Missing {
	return []tools.Missing{{Toolset: "mcp", Name: "MCP server bank", Reason: "connect: no route; I keep trying"}}
}

func (s *shop) Servers() []tools.ServerStatus {
	up := tools.ServerStatus{Name: "shop", State: tools.ServerUp, Refused: []tools.Missing{{Name: "mcp_shop_odd", Reason: "it has no schema"}}}
	all, _ := s.Tools()
	for _, t := range all {
		up.Tools = append(up.Tools, t.Spec().Name)
	}
	return []tools.ServerStatus{up, {Name: "bank", State: tools.ServerDown, Trouble: "connect: no route"}}
}
