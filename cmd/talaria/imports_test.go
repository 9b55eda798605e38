package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/talaria-agent/talaria/"

// allowed says which packages of ours each package may import; a name ending in "/..." stands for what is below it.
// What is not listed may import nothing of ours.
var allowed = []struct {
	pkg     string
	imports []string
}{
	{"sessions", nil},
	{"sessions/storetest", []string{"sessions"}},
	{"sessions/...", []string{"sessions"}},
	{"tools", nil},
	{"tools/terminal", []string{"tools", "tools/shellpolicy"}},
	{"tools/ops", []string{"tools", "tools/fulltext"}},
	{"tools/...", []string{"tools"}},
	{"platforms", nil},
	{"platforms/markup", nil},
	{"platforms/platformtest", []string{"platforms", "platforms/sim"}},
	{"platforms/sim", nil},
	{"platforms/sim/...", []string{"platforms/sim", "platforms/sim/spec"}},
	{"platforms/...", []string{"platforms", "platforms/markup"}},
	{"loop", []string{"tools", "sessions"}},
	{"loop/openai", []string{"loop", "loop/provider", "sessions"}},
	{"loop/anthropic", []string{"loop", "loop/provider", "sessions"}},
	{"loop/modeltest", []string{"loop", "loop/demo", "sessions", "tools"}},
	{"loop/agenttools", []string{"loop", "tools", "tools/fulltext", "sessions"}},
	{"loop/...", []string{"loop", "tools", "sessions"}},
	{"gateway", []string{"gateway/chattools", "gateway/schedule", "platforms", "platforms/markup", "loop", "tools", "sessions"}},
	{"gateway/chattools", []string{"loop", "tools", "sessions"}},
	{"gateway/schedule", nil},
	{"gateway/audit", []string{"sessions"}},
	{"gateway/figures", []string{"gateway", "sessions"}},
	{"gateway/metrics", []string{"gateway", "loop", "platforms", "sessions"}},
	{"gateway/tracing", []string{"gateway", "loop"}},
	{"cmd/talaria/labpage", []string{"platforms", "platforms/sim"}},
	{"cmd/talaria/control", nil},
	{"cmd/...", []string{
		"cmd/talaria/labpage", "cmd/talaria/control", "gateway", "gateway/audit", "gateway/chattools", "gateway/metrics", "gateway/tracing", "platforms", "platforms/...", "loop", "loop/...", "tools", "tools/...",
		"sessions", "sessions/...",
	}},
}

// owners says which packages may import a third-party library. A library that is not listed may be imported anywhere.
var owners = map[string][]string{
	"github.com/slack-go/slack":                          {"platforms/slack"},
	"github.com/bwmarrin/discordgo":                      {"platforms/discord"},
	"github.com/go-telegram-bot-api/telegram-bot-api/v5": {"platforms/telegram"},
	"go.etcd.io/bbolt":                                   {"sessions/bolt"},
	"github.com/nats-io/nats.go":                         {"sessions/nats"},
	"github.com/nats-io/nats-server/v2":                  {},
	"github.com/sashabaranov/go-openai":                  {"loop/openai"},
	"github.com/openai/openai-go/v3":                     {"loop/openai"},
	"github.com/anthropics/anthropic-sdk-go":             {"loop/anthropic"},
	"github.com/fsnotify/fsnotify":                       {"cmd/talaria"},
	"github.com/charmbracelet/x/term":                    {"cmd/talaria"},
	"charm.land/huh/v2":                                  {"cmd/talaria"},
	"github.com/BurntSushi/toml":                         {"cmd/talaria"},
	"github.com/prometheus/client_golang":                {"gateway/metrics"},
	"go.opentelemetry.io/otel":                           {"gateway/tracing"},
	"github.com/yuin/goldmark":                           {"platforms/markup"},
	"github.com/gorilla/websocket":                       {"platforms/slack", "platforms/discord", "platforms/sim/slack", "platforms/sim/discord"},
	"github.com/google/jsonschema-go":                    {"tools", "loop", "loop/recording", "tools/mcp"},
	"github.com/modelcontextprotocol/go-sdk":             {"tools/mcp"},
	"github.com/rivo/uniseg":                             {"platforms/markup"},
	"github.com/adhocore/gronx":                          {"gateway/schedule"},
	"mvdan.cc/sh/v3":                                     {"tools/shellpolicy"},
	"github.com/rogpeppe/go-internal":                    {"tools/checkpoint"},
	"golang.org/x/text":                                  {"tools/files"},
	"golang.org/x/net":                                   {"tools/web", "tools/ops", "tools/mcp"},
	"code.dny.dev/ssrf":                                  {"tools/web"},
	"codeberg.org/readeck/go-readability/v2":             {"tools/web"},
	"github.com/JohannesKaufmann/html-to-markdown/v2":    {"tools/web"},
	"github.com/gogs/chardet":                            {"tools/web"},
	"github.com/klippa-app/go-pdfium":                    {"tools/web"},
	"github.com/tetratelabs/wazero":                      {"tools/web"},
	"golang.org/x/image":                                 {"tools/ops", "tools/vision"},
	"go.yaml.in/yaml/v3":                                 {"cmd/talaria", "tools/skills"},
	"github.com/landlock-lsm/go-landlock":                {"tools/terminal"},
	"github.com/creack/pty":                              {"tools/terminal"},
}

// TestImports checks that dependencies point one way and that each library has its owner, by what the packages
// themselves import; their tests may import more.
func TestImports(t *testing.T) {
	seen := 0
	for _, p := range listPackages(t) {
		seen++
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module); ok {
				if !matches(allowedFor(name), ours) {
					t.Errorf("%s must not import %s", name, ours)
				}
				continue
			}
			for library, by := range owners {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(by, name) {
					t.Errorf("%s must not import %s; it belongs to %v", name, imported, by)
				}
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d packages were checked", seen)
	}
}

type listed struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// allowedFor returns what a package may import: the first entry that fits.
func allowedFor(name string) []string {
	for _, a := range allowed {
		if matches([]string{a.pkg}, name) {
			return a.imports
		}
	}
	return nil
}

// matches tells whether a name is in a list of names and "name/..." patterns.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		below, ok := strings.CutSuffix(entry, "/...")
		return entry == name || ok && strings.HasPrefix(name, below+"/")
	})
}
