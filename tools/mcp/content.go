package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// render makes a text of what a tool returned. What is no text is named.
func render(r *sdk.CallToolResult) string {
	if r.NeedsInput() {
		return "The server wants to ask the person something first, which it cannot do here."
	}
	var parts []string
	for _, c := range r.Content {
		if part := renderPart(c); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if text, err := json.MarshalIndent(r.StructuredContent, "", "  "); err == nil {
			return string(text)
		}
	}
	return strings.Join(parts, "\n\n")
}

func renderPart(content sdk.Content) string {
	switch c := content.(type) {
	case nil:
		return ""
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return unshown("picture", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return unshown("recording", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", cmp.Or(c.Title, c.Name, "without a name"), c.URI) + more(c.Description)
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return ""
		case c.Resource.Text != "":
			return fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, c.Resource.Text)
		}
		return unshown("resource "+c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return "[something that cannot be shown here]"
}

func unshown(what, kind string, size int) string {
	return fmt.Sprintf("[a %s (%s, %d bytes) that cannot be shown here]", what, cmp.Or(kind, "of no stated type"), size)
}

func more(text string) string {
	if text == "" {
		return ""
	}
	return "\n" + text
}
