package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/talaria-agent/talaria/platforms"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExampleConfig: the example is valid, says nothing but the defaults, and names every key.
func TestExampleConfig(t *testing.T) {
	text, err := os.ReadFile("../../config.toml.example")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := loadConfig(writeConfig(t, string(text)), env())
	if err != nil {
		t.Fatal(err)
	}
	empty, _, err := loadConfig("", env())
	if err != nil {
		t.Fatal(err)
	}
	cfg.File = ""
	normalize := cmpopts.EquateEmpty()
	if diff := cmp.Diff(empty, cfg, normalize); diff != "" {
		t.Errorf("the example differs from the defaults (-default +example):\n%s", diff)
	}
	uncommented := regexp.MustCompile(`(?m)^# ?([a-z_]+ = |\[\[)`).ReplaceAllString(string(text), "$1")
	keys := allKeys(reflect.TypeFor[Config](), "")
	for _, key := range keys {
		table := slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, key+".") })
		if !table && lineOf(uncommented, key) == 0 {
			t.Errorf("the example does not name %s", key)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"an unknown key", "[gateway]\nworkerz = 3\n", `:2: unknown key "gateway.workerz"; did you mean "gateway.workers"?`},
		{"an unknown table", "[gatewai]\nworkers = 3\n", `unknown key "gatewai.workers"; did you mean "gateway.workers"?`},
		{"a key in the wrong table", "base_url = \"http://x\"\n", `:1: unknown key "base_url"; did you mean "model.base_url"?`},
		{"a wrong type", "[gateway]\nworkers = \"many\"\n", `:2: key "gateway.workers": incompatible types`},
		{"broken syntax", "[gateway]\nworkers = = 3\n", ":2: "},
		{"an impossible value", "\n[loop]\nmax_turns = 0\n", ":3: loop.max_turns: 0 is not between"},
		{"an unknown choice", "[gateway]\nbusy = \"panic\"\n", `gateway.busy: "panic" is not one of interrupt, queue`},
		{"a bad address", "[model]\nbase_url = \"localhost:80\"\n", "model.base_url"},
		{"no place", "[[delivery.at]]\nplace = \"telegram:@team\"\n", `delivery.at[0].place: "telegram:@team" is neither`},
		{"a place twice", "[[delivery.at]]\nplace = \"slack\"\n[[delivery.at]]\nplace = \"slack\"\n", `"slack" stands there twice`},
		{"an unknown way to deliver", "[delivery]\nfinal = \"old\"\n", `delivery.final: "old" is not one of new, edit`},
		{"a blank entry", "[access.telegram]\nusers = [\" \"]\n", ":2: access.telegram.users: it has a blank entry"},
		{"a name instead of an id", "[access.telegram]\nusers = [\"@alice\"]\n", "names do not count"},
		{"an entry without platform", "[access]\nusers = [\"123\"]\n", `"123" must name the platform`},
		{"a name on Slack", "[access.slack]\nchats = [\"#general\"]\n", ":2: access.slack.chats: \"#general\" is no id of slack"},
		{"everybody without a platform", "[access]\nusers = [\"*\"]\n", "telegram:*"},
		{"everybody an admin", "[access.slack]\nadmins = [\"*\"]\n", "would make everybody an admin"},
		{"the anonymous admin", "[access.telegram]\nadmins = [\"1087968824\"]\n", "anonymous"},
		{"half of Slack's tokens", "[platforms.slack]\nbot_token = \"xoxb-1\"\n", "Slack needs both tokens"},
		{"thresholds in the wrong order", "[context]\nsummarize_at = 0.4\n", ":2: context.summarize_at: 0.4 is below context.preflight_at (0.5)"},
		{"a late summary", "[context]\nsummarize_at = 0.9\n", "gateway.compress_at: 0.85 is below context.summarize_at (0.9)"},
		{"a fallback without a name", "[[fallbacks]]\nbase_url = \"http://x\"\n", "fallbacks[0].name: a model needs a name"},
		{"a profile without a pattern", "[[profiles]]\nwindow = 9000\n", "profiles[0].match"},
		{"an unknown API mode", "[[auxiliary.compression]]\nname = \"x\"\napi = \"soap\"\n", `auxiliary.compression[0].api: "soap" is not one of chat, messages, responses`},
		{"a variable that is not set", "[model]\napi_key = \"${NOPE}\"\n", "${NOPE} is not set"},
		{"a secret twice", "[model]\napi_key = \"x\"\napi_key_file = \"y\"\n", "both set"},
		{"a secret file that is not there", "[model]\napi_key_file = \"/nope\"\n", "model.api_key_file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := loadConfig(writeConfig(t, test.text), env())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q in it", err, test.want)
			}
		})
	}
	if _, _, err := loadConfig("", env("TALARIA_ALLOWED_USERS", "telegram:@iris")); err == nil || !strings.Contains(err.Error(), "TALARIA_ALLOWED_USERS") {
		t.Errorf("a name in TALARIA_ALLOWED_USERS gives %v", err)
	}
	if _, _, err := loadConfig("/nope/config.toml", env()); err == nil {
		t.Error("a config file that is not there is no error")
	}
}

// TestAllProblemsAtOnce: none of what is wrong hides another thing, wherever it is found out.
func TestAllProblemsAtOnce(t *testing.T) {
	text := `data_dir = 7
[gateway]
debounce = "5 minutes"
workers = "many"
wrokers = 3
max_age = "-1s"
[platforms]
telegram = "123:abc"
[web]
api_key = "${NOPE}"
[[hooks]]
when = "before"
command = ["/bin/true"]
timeout = "soon"
[[hooks]]
when = "sometimes"
command = ["/bin/true"]
timeout = "later"
[[gateway.at]]
place = "nowhere"
[fallbacks]
name = "x"
`
	_, _, err := loadConfig(writeConfig(t, text), env("TALARIA_ALLOWED_USERS", "me"))
	for _, want := range []string{
		`:1: key "data_dir": incompatible types`,
		`:3: key "gateway.debounce": "5 minutes" is not a duration like`,
		`:4: key "gateway.workers": incompatible types`,
		`:5: unknown key "gateway.wrokers"; did you mean "gateway.workers"?`,
		`:6: gateway.max_age: -1s is less than 0s`,
		`:8: key "platforms.telegram": it is a table, written as [platforms.telegram]`,
		`${NOPE} is not set in the environment`,
		`:14: key "hooks[0].timeout": "soon" is not a duration`,
		`:16: hooks[1].when: "sometimes" is not one of`,
		`:18: key "hooks[1].timeout": "later" is not a duration`,
		`:20: gateway.at[0].place: "nowhere" is neither`,
		`:21: key "fallbacks": it is a list of tables, each written as [[fallbacks]]`,
		`TALARIA_ALLOWED_USERS: "me" must name the platform`,
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("the error does not say %q", want)
		}
	}
	if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != 13 {
		t.Errorf("%d problems, want 13:\n%v", n, err)
	}
}

// TestEnvFile: secrets can stand in a file beside the config; the environment counts more.
func TestEnvFile(t *testing.T) {
	path := writeConfig(t, "env_file = \"secrets.env\"\n[platforms.discord]\ntoken = \"${OWN_NAME}\"\n")
	secrets := filepath.Join(filepath.Dir(path), "secrets.env")
	text := "# tokens\n\nTELEGRAM_BOT_TOKEN=1:a=b\nOWN_NAME=disc'o\"rd\nOPENAI_API_KEY=from-the-file\n"
	if err := os.WriteFile(secrets, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := loadConfig(path, env("OPENAI_API_KEY", "from-the-environment"))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Platforms.Telegram.Token != "1:a=b" || cfg.Platforms.Discord.Token != "disc'o\"rd" || cfg.Model.APIKey != "from-the-environment" {
		t.Errorf("tokens are %q, %q, %q", cfg.Platforms.Telegram.Token, cfg.Platforms.Discord.Token, cfg.Model.APIKey)
	}
	if own, err := cfg.own(); err != nil || !slices.Contains(own, secrets) {
		t.Errorf("the tools can reach it: %v, %v", own, err)
	}
	if err := os.WriteFile(secrets, []byte("OWN_NAME=x\nhidden words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadConfig(path, env()); err == nil || !strings.Contains(err.Error(), ":1: env_file: "+secrets+":2 is not NAME=value") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("the error is %v", err)
	}
	if err := os.Remove(secrets); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadConfig(path, env()); err == nil || !strings.Contains(err.Error(), "secrets.env") {
		t.Errorf("the error is %v", err)
	}
}

func TestConfigSources(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("123:from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := writeConfig(t, "[platforms.telegram]\ntoken_file = \""+secret+"\"\n[model]\nname = \"${MODEL}-x\"\n[access.telegram]\nusers = [\"1\"]\n")
	cfg, warnings, err := loadConfig(path, env(
		"MODEL", "big", "OPENAI_API_KEY", "sk-1", "OPENAI_BASE_URL", "http://proxy/v1", "TELEGRAM_BOT_TOKEN", "not-this",
		"DISCORD_BOT_TOKEN", "d", "TALARIA_ALLOWED_USERS", "telegram:2, discord:*"))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Platforms.Telegram.Token != "123:from-file" || cfg.Platforms.Discord.Token != "d" {
		t.Errorf("tokens are %q and %q", cfg.Platforms.Telegram.Token, cfg.Platforms.Discord.Token)
	}
	if cfg.Model.Name != "big-x" || cfg.Model.APIKey != "sk-1" || cfg.Model.BaseURL != "http://proxy/v1" {
		t.Errorf("model is %+v", cfg.Model)
	}
	a := cfg.access()
	if diff := cmp.Diff([]string{"1", "2"}, a.Users[platforms.Telegram]); diff != "" {
		t.Errorf("telegram users differ:\n%s", diff)
	}
	if !strings.Contains(strings.Join(warnings, "\n"), "anybody on discord") {
		t.Errorf("an open list does not warn: %v", warnings)
	}
}

func FuzzConfig(f *testing.F) {
	text, err := os.ReadFile("../../config.toml.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("[gateway]\nworkers = 1e9\n")
	f.Add("[access.telegram]\nusers = [\"\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		cfg := defaultConfig()
		if _, err := decodeConfig("fuzz", text, &cfg); err == nil {
			_ = validate(&cfg)
			_ = cfg.access()
		}
	})
}

// TestWorkspaceHoldsNothingOfOurs: tools could read tokens in it, or change who may do what.
func TestWorkspaceHoldsNothingOfOurs(t *testing.T) {
	folder := t.TempDir()
	config := filepath.Join(folder, "etc", "config.toml")
	for _, dir := range []string{"etc", "keys", "src"} {
		if err := os.Mkdir(filepath.Join(folder, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "keys", "telegram"), []byte("1:a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(folder, "keys"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for workspace, wrong := range map[string]string{
		"src": "", "data/work/shared": "", "srcs/new": "",
		".": "is in it", "etc": "config.toml is in it", "keys": "telegram is in it", "link": "telegram is in it",
		"data": "data is in it", "data/state": "is in data_dir", "data/memory/x": "is in data_dir",
	} {
		text := fmt.Sprintf("data_dir = %q\n[tools]\nworkspace = %q\n[platforms.telegram]\ntoken_file = %q\n",
			filepath.Join(folder, "data"), filepath.Join(folder, workspace), filepath.Join(folder, "keys", "telegram"))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := loadConfig(config, env())
		if got := fmt.Sprint(err); wrong == "" && err != nil || wrong != "" && !strings.Contains(got, wrong) {
			t.Errorf("workspace %s: %s, want %q", workspace, got, wrong)
		}
	}
}
