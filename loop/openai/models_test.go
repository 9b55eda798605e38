package openai_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/anthropic"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/loop/openai"
)

// TestModels: both makers' servers say which models they have, to whoever has the key.
func TestModels(t *testing.T) {
	server := httptest.NewServer(demo.New(demo.Options{APIKey: "hidden-key"}))
	defer server.Close()
	for name, list := range map[string]func(string, string) ([]string, error){
		"openai": func(url, key string) ([]string, error) {
			return openai.Models(t.Context(), openai.Config{BaseURL: url, APIKey: key})
		},
		"anthropic": func(url, key string) ([]string, error) {
			return anthropic.Models(t.Context(), anthropic.Config{BaseURL: url, APIKey: key})
		},
	} {
		names, err := list(server.URL+"/v1", "hidden-key")
		if err != nil || !slices.Contains(names, demo.ModelName) {
			t.Errorf("%s: %q, %v", name, names, err)
		}
		if _, err := list(server.URL+"/v1", "hidden-other"); loop.ModelClass(err) != loop.ModelAuth || strings.Contains(err.Error(), "hidden-other") {
			t.Errorf("%s: a wrong key gives %v", name, err)
		}
	}
}
