package shellpolicy

import (
	"regexp"
	"slices"
	"strings"
)

// tar looks at tar, which can start programs, and write anywhere.
func (s *scope) tar(i invocation) {
	if !s.known(i) {
		return
	}
	args := i.args()
	if hasFlag(args, "--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script", "--rmt-command") ||
		hasFlag(args, "-I", "-F") {
		s.ask(Code, "It runs `tar` with an option that starts a program.")
		s.opaque = true
	}
	if hasFlag(args, "--absolute-names", "-P") {
		s.ask(Outside, "It runs `tar` so that it can write outside of the work folder.")
	}
	if hasFlag(args, "--remove-files") {
		s.ask(Destructive, "It deletes what it packs.")
	}
	mode := ""
	if len(args) > 0 {
		mode = strings.TrimLeft(args[0].text, "-")
	}
	writes := strings.ContainsAny(mode, "xcruA") || hasFlag(args, "--extract", "--create", "--append", "--update", "--get", "--delete")
	for k, w := range args {
		switch {
		case w.fed || w.glob && strings.IndexAny(w.text, "*?[") == 0:
			s.ask(Unclear, "It runs `tar` with names that may be taken for options.")
		case k == 0 && !strings.Contains(w.text, "/") || strings.HasPrefix(w.text, "-") && !strings.ContainsAny(w.text, "/="):
		case strings.Contains(w.text, ":"):
			s.ask(Network, "It runs `tar` on another machine.")
		case writes && (k > 0 && (args[k-1].is("-C", "--directory") || strings.HasSuffix(args[k-1].text, "f")) || strings.HasPrefix(w.text, "-")):
			s.writesTo(operand(w), "")
		default:
			s.reads(operand(w))
		}
	}
}

// online are the subcommands of package tools that fetch from the network.
var online = map[string][]string{
	"go":       {"get", "install"},
	"cargo":    {"install", "fetch", "update", "add", "publish", "search", "login", "yank", "owner"},
	"npm":      {"install", "i", "ci", "add", "update", "publish", "audit", "exec", "x", "init", "create", "login", "view", "search", "outdated", "info"},
	"pnpm":     {"install", "i", "add", "update", "publish", "dlx", "exec"},
	"yarn":     {"install", "add", "upgrade", "publish", "dlx", ""},
	"pip":      {"install", "download", "search", "index", "wheel"},
	"uv":       {"add", "sync", "pip", "tool", "python", "lock", "publish"},
	"poetry":   {"install", "add", "update", "publish", "lock"},
	"gem":      {"install", "update", "push", "fetch", "search"},
	"bundle":   {"install", "update", "add"},
	"composer": {"install", "update", "require", "create-project", "global"},
	"conda":    {"install", "create", "update", "search"},
}

// packages looks at the tools of languages that build, run and install.
func (s *scope) packages(n string, i invocation) {
	s.known(i)
	s.opaque = true
	sub := ""
	if rest := operands(i.args()); len(rest) > 0 {
		sub = rest[0].text
	}
	list, ok := online[strings.TrimSuffix(n, "3")]
	if n == "mamba" {
		list, ok = online["conda"], true
	}
	if !ok || slices.Contains(list, sub) || n == "go" && sub == "mod" && slices.ContainsFunc(i.args(), func(w word) bool { return w.is("download", "tidy", "vendor") }) {
		s.ask(Network, "It fetches packages from the network.")
	}
	s.outsideArguments(i)
	s.ask(Code, "It builds or runs code, which can do anything.")
}

func isDatabase(n string) bool {
	return slices.Contains([]string{
		"sqlite3", "sqlite", "duckdb", "psql", "mysql", "mariadb", "mongosh", "mongo", "redis-cli", "cqlsh", "clickhouse-client",
		"sqlcmd", "sqlplus",
	}, n)
}

// losesData finds statements after which data is gone.
var losesData = regexp.MustCompile(`(?is)\b(drop\s+(table|database|schema|index|view|collection|user|role|keyspace)|truncate(\s+table)?\s+\w+|flushall|flushdb|dropdatabase|deletemany|alter\s+table\s+\S+\s+drop)\b`)

var (
	deletes    = regexp.MustCompile(`(?is)\b(delete\s+from|update\s+\S+\s+set)\b[^;]*`)
	conditions = regexp.MustCompile(`(?i)\bwhere\b`)
	escapes    = regexp.MustCompile(`(?im)^\s*[.\\][a-z!]|\\!|\bcopy\b.*\bprogram\b|load_extension|\binto\s+(out|dump)file\b|\battach\b`)
)

// database looks at a client of a database, and at the statements that it gets.
func (s *scope) database(n string, i invocation) {
	s.known(i)
	s.opaque = true
	local := n == "sqlite3" || n == "sqlite" || n == "duckdb"
	if !local {
		s.ask(Network, "It talks to a database.")
	}
	texts := []string{}
	for _, w := range i.args() {
		texts = append(texts, w.text)
	}
	text, known, fed := s.hereDocument(i.redirs)
	if fed && !known {
		s.ask(Unclear, "It feeds statements to a database that are known only when it runs.")
	}
	for _, t := range append(texts, text) {
		if losesData.MatchString(t) {
			s.ask(Destructive, "It deletes data from a database.")
		}
		for _, d := range deletes.FindAllString(t, -1) {
			if !conditions.MatchString(d) {
				s.ask(Destructive, "It changes or deletes all rows of a table.")
			}
		}
		if escapes.MatchString(t) {
			s.ask(Unclear, "It uses a command of the database's client that can run programs or reach files.")
		}
	}
	if local {
		statements := fed
		for k, w := range operands(i.args()) {
			if k == 0 {
				s.writesTo(w, "")
			} else {
				statements = true
			}
		}
		if !statements {
			s.ask(Unclear, "It feeds statements to a database that are known only when it runs.")
		}
	}
}
