package files

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// glob is a pattern for paths.
type glob struct {
	pattern *regexp.Regexp // nil = everything
	byPath  bool           // it is for the path below the searched folder, not for the name alone
}

// parseGlob reads a pattern: * and ? stay within a name, ** does not, [a-z] and {a,b} mean what they do in a shell. A
// pattern without a slash is for names, at any depth. If plain names count as parts (loose), "note" matches "my notes".
func parseGlob(pattern string, loose bool) (glob, error) {
	if loose && !strings.ContainsAny(pattern, "*?[{/") {
		return glob{pattern: regexp.MustCompile("(?i)" + regexp.QuoteMeta(pattern))}, nil
	}
	pattern = strings.TrimPrefix(pattern, "./")
	var re strings.Builder
	re.WriteString("^")
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			re.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			re.WriteString(".*")
			i++
		case c == '*':
			re.WriteString("[^/]*")
		case c == '?':
			re.WriteString("[^/]")
		case c == '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 1 {
				return glob{}, fmt.Errorf("the glob %q has a [ without its ]", pattern)
			}
			set := pattern[i+1 : i+1+end]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			re.WriteString("[" + strings.ReplaceAll(set, `\`, `\\`) + "]")
			i += end + 1
		case c == '{':
			braces++
			re.WriteString("(?:")
		case c == '}' && braces > 0:
			braces--
			re.WriteString(")")
		case c == ',' && braces > 0:
			re.WriteString("|")
		default:
			_, size := utf8.DecodeRuneInString(pattern[i:])
			re.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
			i += size - 1
		}
	}
	compiled, err := regexp.Compile(re.String() + "$")
	if err != nil {
		return glob{}, fmt.Errorf("the glob %q cannot be understood", pattern)
	}
	return glob{pattern: compiled, byPath: strings.Contains(pattern, "/")}, nil
}

// matches tells whether a path fits, given below the searched folder.
func (g glob) matches(below string) bool {
	if g.pattern == nil {
		return true
	}
	if !g.byPath {
		below = below[strings.LastIndexByte(below, '/')+1:]
	}
	return g.pattern.MatchString(below)
}
