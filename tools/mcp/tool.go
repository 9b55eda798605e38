package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/talaria-agent/talaria/tools"
)

const (
	prefix         = "mcp_"
	maxName        = 64 // characters that providers take in the name of a tool
	maxServer      = 24
	mostListed     = 500  // tools that a server may list, and
	mostUsed       = 100  // that are used of them
	maxDescription = 8000 // bytes of a description
	maxSchema      = 64 << 10
)

var unclean = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// clean makes a text part of a tool's name.
func clean(name string) string { return unclean.ReplaceAllString(name, "_") }

// toolName is what the model calls a tool of a server. Too long a name ends in what tells it from others.
func toolName(server, tool string) string {
	name := prefix + clean(server) + "_" + clean(tool)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	return name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// tool is a tool of a server.
type tool struct {
	server *server
	theirs string // its name there
	spec   tools.Spec
	schema []byte // as it was sent
}

// same tells whether two tools are declared and handled alike.
func same(a, b tools.Tool) bool {
	x, y := a.(*tool), b.(*tool)
	return x.theirs == y.theirs && x.spec.Name == y.spec.Name && x.spec.Description == y.spec.Description &&
		x.spec.Risk == y.spec.Risk && bytes.Equal(x.schema, y.schema)
}

// take makes tools of what a server lists, in the order of their names, and says which it does not and why.
func (s *server) take(listed []*sdk.Tool) (made []tools.Tool, refused []tools.Missing) {
	listed = slices.DeleteFunc(slices.Clone(listed), func(t *sdk.Tool) bool { return t == nil || !s.wanted(t.Name) })
	slices.SortStableFunc(listed, func(a, b *sdk.Tool) int { return cmp.Compare(a.Name, b.Name) })
	taken := map[string]string{}
	for _, t := range listed {
		name := toolName(s.Name, t.Name)
		refuse := func(format string, args ...any) {
			refused = append(refused, tools.Missing{Toolset: Toolset, Name: name, Reason: s.o.Redact(fmt.Sprintf(format, args...))})
		}
		if other, ok := taken[name]; ok {
			refuse("the server's tools %q and %q would have the same name; only the first is used", other, t.Name)
			continue
		}
		if len(made) == mostUsed {
			refuse("only %d tools of a server are used; name those that you need in tools of [[mcp]]", mostUsed)
			break
		}
		it, err := s.make(name, t)
		if err != nil {
			refuse("%v", err)
			continue
		}
		taken[name] = t.Name
		made = append(made, it)
	}
	return made, refused
}

// wanted tells whether the config wants a tool.
func (s *server) wanted(name string) bool {
	return len(s.Server.Tools) == 0 || slices.ContainsFunc(s.Server.Tools, func(pattern string) bool {
		match, _ := path.Match(pattern, name)
		return match
	})
}

func (s *server) make(name string, t *sdk.Tool) (*tool, error) {
	schema, text, err := readSchema(t.InputSchema)
	if err != nil {
		return nil, err
	}
	description := cmp.Or(strings.TrimSpace(t.Description), t.Title)
	if len(description) > maxDescription {
		return nil, fmt.Errorf("its description is longer than %d bytes", maxDescription)
	}
	for _, said := range []string{description, string(text)} {
		if why := s.o.Suspicious(said); why != "" {
			return nil, fmt.Errorf("what it says about itself looks like an attempt to take the assistant over: %s", why)
		}
	}
	spec := tools.Spec{
		Name: name, Toolset: Toolset, Description: description, Schema: schema, Timeout: s.Timeout, Untrusted: true, Risk: tools.Outside,
	}
	if t.Annotations != nil && t.Annotations.ReadOnlyHint {
		spec.Risk, spec.Parallel = tools.ReadOnly, true
	}
	return &tool{server: s, theirs: t.Name, spec: spec, schema: text}, nil
}

// readSchema makes a schema that arguments can be checked with of one that a server sent.
func readSchema(sent any) (*jsonschema.Schema, []byte, error) {
	text, err := json.Marshal(sent)
	if err != nil || sent == nil {
		return nil, nil, errors.New("it has no schema")
	}
	if len(text) > maxSchema {
		return nil, nil, fmt.Errorf("its schema is larger than %d KB", maxSchema>>10)
	}
	schema := &jsonschema.Schema{}
	if err := json.Unmarshal(text, schema); err != nil {
		return nil, nil, fmt.Errorf("its schema cannot be read: %w", err)
	}
	if schema.Type == "" && schema.Types == nil {
		schema.Type = "object"
	}
	if schema.Type != "object" {
		return nil, nil, errors.New("its schema is not that of an object")
	}
	if _, err := schema.Resolve(nil); err != nil {
		return nil, nil, fmt.Errorf("its schema cannot be used: %w", err)
	}
	return schema, text, nil
}

// Spec implements tools.Tool.
func (t *tool) Spec() tools.Spec { return t.spec }

// Call implements tools.Tool. The end of the context is passed on to the server.
func (t *tool) Call(ctx context.Context, _ tools.Scope, arguments json.RawMessage) (tools.Result, error) {
	s := t.server
	conn, err := s.ready(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		return tools.Result{}, &tools.Trouble{Class: tools.FailUnreachable, Harmless: true, Err: fmt.Errorf("the MCP server %s is not reachable: %s", s.Name, s.o.redacted(err))}
	}
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(conn.ctx, func() { cancel(errLost) })()
	result, err := conn.CallTool(calling, &sdk.CallToolParams{Name: t.theirs, Arguments: arguments})
	if err == nil {
		text := s.o.Redact(render(result))
		return tools.Result{Text: text, Failed: result.IsError || result.NeedsInput()}, nil
	}
	var said *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case errors.As(err, &said) && said.Code == jsonrpc.CodeInvalidParams:
		return tools.Wrongf("The server refused the call: %s", s.o.Redact(said.Message)), nil
	case errors.As(err, &said):
		return tools.Failf("The server reported an error: %s", s.o.Redact(said.Message)), nil
	}
	conn.lose(fmt.Errorf("a call failed: %w", err))
	return tools.Result{}, &tools.Trouble{
		Class: tools.FailUnreachable, Harmless: errors.Is(err, sdk.ErrSessionMissing), // it has forgotten us, and so did nothing
		Err: fmt.Errorf("the connection to the MCP server %s broke: %s", s.Name, s.o.redacted(err)),
	}
}
