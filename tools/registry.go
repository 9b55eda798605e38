package tools

import (
	"fmt"
	"slices"
)

// Registry holds the tools that exist, in the order in which they are declared to the model. It does not change after
// it was made, so it may be read from any goroutine.
type Registry struct {
	tools  []Tool
	byName map[string]Tool
}

// NewRegistry makes a registry. Two tools of one name are an error.
func NewRegistry(all ...Tool) (*Registry, error) {
	r := &Registry{byName: map[string]Tool{}}
	for _, t := range all {
		name := t.Spec().Name
		if r.byName[name] != nil {
			return nil, fmt.Errorf("two tools are called %q", name)
		}
		r.byName[name] = t
		r.tools = append(r.tools, t)
	}
	return r, nil
}

// Tools returns all tools in their order.
func (r *Registry) Tools() []Tool { return slices.Clone(r.tools) }

// Lookup returns the tool of that name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	t, ok := r.byName[name]
	return t, ok
}

// Names returns the names of all tools in their order.
func (r *Registry) Names() []string {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.Spec().Name
	}
	return names
}

// Only returns a registry of those tools for which keep reports true, in the same order.
func (r *Registry) Only(keep func(Spec) bool) *Registry {
	some := &Registry{byName: map[string]Tool{}}
	for _, t := range r.tools {
		if spec := t.Spec(); keep(spec) {
			some.byName[spec.Name] = t
			some.tools = append(some.tools, t)
		}
	}
	return some
}
