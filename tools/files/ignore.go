package files

import (
	"io"
	"io/fs"
	"path"
	"strings"
)

const maxIgnoreFile = 256 << 10

// ignoreFiles are read in each folder, the later one counting more.
func ignoreFiles() []string { return []string{".gitignore", ".ignore"} }

// rule is a line of an ignore file.
type rule struct {
	glob    glob
	except  bool // it takes out what an earlier one took in
	folders bool // it is for folders only
}

// decide returns what the last of the rules that fits says, and whether any does.
func decide(rules []rule, below string, folder bool) (matched, known bool) {
	for _, r := range rules {
		if (folder || !r.folders) && r.glob.matches(below) {
			matched, known = !r.except, true
		}
	}
	return matched, known
}

// parseIgnore reads an ignore file as git does. Lines that cannot be understood are left out, as git does.
func parseIgnore(text string) []rule {
	var rules []rule
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimRight(line, " "); !strings.HasSuffix(trimmed, `\`) {
			line = trimmed
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var r rule
		line, r.except = strings.CutPrefix(line, "!")
		line, r.folders = strings.CutSuffix(line, "/")
		anchored := strings.Contains(line, "/")
		g, err := parseGlob(globOf(strings.TrimPrefix(line, "/")), false)
		if err != nil || line == "" {
			continue
		}
		g.byPath = anchored
		r.glob = g
		rules = append(rules, r)
	}
	return rules
}

// globOf writes a pattern of an ignore file as a glob of ours: it has backslashes, and braces mean themselves.
func globOf(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		escaped := c == '\\' && i+1 < len(pattern)
		if escaped {
			i++
			c = pattern[i]
		}
		if c == '{' || c == '}' || escaped && strings.IndexByte("*?[", c) >= 0 {
			b.WriteString("[" + string(c) + "]")
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ignores knows the ignore files of the folders that a walk comes through.
type ignores struct {
	root  folder
	rules map[string][]rule // by folder
}

func (g *ignores) of(dir string) []rule {
	rules, ok := g.rules[dir]
	if ok {
		return rules
	}
	for _, name := range ignoreFiles() {
		file, _, err := g.root.open(path.Join(dir, name))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(file, maxIgnoreFile))
		file.Close()
		if err == nil {
			rules = append(rules, parseIgnore(string(text))...)
		}
	}
	g.rules[dir] = rules
	return rules
}

// match tells whether the files above say that something is to be ignored. What lies in an ignored folder is not asked
// about.
func (g *ignores) match(name string, entry fs.DirEntry) bool {
	ignored := false
	dir, below := ".", name
	for {
		if matched, known := decide(g.of(dir), below, entry.IsDir()); known {
			ignored = matched
		}
		next, rest, more := strings.Cut(below, "/")
		if !more {
			return ignored
		}
		dir, below = path.Join(dir, next), rest
	}
}
