package gateway_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// testTools are tools that take virtual time or fail in ways that real ones rarely do.
func testTools(executed *atomic.Int64) ([]tools.Tool, error) {
	type sleepArgs struct {
		Seconds int `json:"seconds" jsonschema:"how long"`
	}
	type noArgs struct{}
	sleep, err := tools.New(tools.Spec{Name: "sleep", Toolset: "test", Description: "Sleeps.", Risk: tools.ReadOnly, Parallel: true},
		func(ctx context.Context, _ tools.Scope, a sleepArgs) (tools.Result, error) {
			if err := wait(ctx, time.After(time.Duration(a.Seconds)*time.Second)); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Text: fmt.Sprintf("slept %d s", a.Seconds)}, nil
		})
	if err != nil {
		return nil, err
	}
	nap, err := tools.New(tools.Spec{
		Name: "nap", Toolset: "test", Description: "Sleeps, but not for ever.", Risk: tools.ReadOnly, Timeout: 20 * time.Second,
	}, func(ctx context.Context, _ tools.Scope, a sleepArgs) (tools.Result, error) {
		return tools.Result{}, wait(ctx, time.After(time.Duration(a.Seconds)*time.Second))
	})
	if err != nil {
		return nil, err
	}
	build, err := tools.New(tools.Spec{Name: "build", Toolset: "test", Description: "Says every second how far it is.", Risk: tools.ReadOnly},
		func(ctx context.Context, scope tools.Scope, a sleepArgs) (tools.Result, error) {
			for n := range a.Seconds {
				scope.Tell(fmt.Sprintf("gcc\nstep %d of %d, password=hunter2", n+1, a.Seconds))
				if err := wait(ctx, time.After(time.Second)); err != nil {
					return tools.Result{}, err
				}
			}
			return tools.Result{Text: "built"}, nil
		})
	if err != nil {
		return nil, err
	}
	execute, err := tools.New(tools.Spec{Name: "execute", Toolset: "test", Description: "Does something dangerous.", Risk: tools.Executes},
		func(context.Context, tools.Scope, noArgs) (tools.Result, error) {
			executed.Add(1)
			return tools.Result{Text: "boom"}, nil
		})
	if err != nil {
		return nil, err
	}
	broken, err := tools.New(tools.Spec{Name: "broken", Toolset: "test", Description: "Fails.", Risk: tools.ReadOnly},
		func(context.Context, tools.Scope, noArgs) (tools.Result, error) { panic("broken") })
	if err != nil {
		return nil, err
	}
	type fetchArgs struct {
		URL string `json:"url"`
	}
	fetch, err := tools.New(tools.Spec{
		Name: "fetch", Toolset: "test", Description: "Fetches.", Risk: tools.ReadOnly, Substitute: "search_files",
	}, func(context.Context, tools.Scope, fetchArgs) (tools.Result, error) {
		return tools.Result{}, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	})
	return []tools.Tool{sleep, nap, build, execute, broken, fetch}, err
}
