package files

import (
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

const (
	nearLines = 20_000 // lines of a file that are compared
	nearShown = 8      // lines that are shown
	nearWidth = 200    // bytes of a line that are compared and shown
)

// missing is the error for a text that is to be replaced but is not in the file.
type missing struct{ hint string }

func (e *missing) Error() string {
	if e.hint == "" {
		return "the old text is not in it, nor anything like it; read the file"
	}
	return "the old text is not in it. " + e.hint
}

// mistakes are the ways in which a text is often misremembered, each with what makes two such texts equal. Later ones
// include the earlier ones.
var mistakes = []struct {
	what string
	fold func(string) string
}{
	{"spaces at the end of a line", func(l string) string { return strings.TrimRight(l, " \t\r") }},
	{"indentation", strings.TrimSpace},
	{"white space", func(l string) string { return strings.Join(strings.Fields(l), "") }},
	{"quotes, dashes or white space", func(l string) string { return plainSigns.Replace(strings.Join(strings.Fields(l), "")) }},
	{"upper and lower case", func(l string) string {
		return strings.ToLower(plainSigns.Replace(strings.Join(strings.Fields(l), "")))
	}},
}

var plainSigns = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "'", `"`, "‘", `"`, "’", `"`, "`", `"`, "–", "-", "—", "-", "\u00a0", "")

// nearest says where in the text something stands that is almost the wanted text, and what differs; "" if nothing is.
func (s *source) nearest(wanted string) string {
	want := strings.Split(strings.Trim(wanted, "\n"), "\n")
	have := strings.Split(s.plain, "\n")
	have = have[:min(len(have), nearLines)]
	for _, m := range mistakes {
		folded := foldAll(want, m.fold)
		in := foldAll(have, m.fold)
		for i := range in {
			if i+len(folded) <= len(in) && hasLines(in[i:], folded) {
				return fmt.Sprintf("Almost the same text differs in %s. %s", m.what, show(have, want, i))
			}
		}
	}
	if i := mostAlike(have, want); i >= 0 {
		return "The nearest is other text. " + show(have, want, i)
	}
	return ""
}

func foldAll(lines []string, fold func(string) string) []string {
	folded := make([]string, len(lines))
	for i, l := range lines {
		folded[i] = fold(l)
	}
	return folded
}

// hasLines tells whether lines begin with the wanted ones; the first of them may begin, and the last end, within a line.
func hasLines(lines, wanted []string) bool {
	last := len(wanted) - 1
	if last == 0 {
		return wanted[0] != "" && strings.Contains(lines[0], wanted[0])
	}
	if !strings.HasSuffix(lines[0], wanted[0]) || !strings.HasPrefix(lines[last], wanted[last]) {
		return false
	}
	for i := 1; i < last; i++ {
		if lines[i] != wanted[i] {
			return false
		}
	}
	return true
}

// mostAlike returns the index of the line from which on the most wanted lines stand where they should, or else of the
// line that is most like the first wanted one; -1 if none is.
func mostAlike(have, want []string) int {
	have, want = foldAll(have, strings.TrimSpace), foldAll(want, strings.TrimSpace)
	best, most := -1, 0
	for i := range have {
		same := 0
		for j, w := range want[:min(len(want), len(have)-i, 100)] {
			if w != "" && have[i+j] == w {
				same++
			}
		}
		if same > most {
			best, most = i, same
		}
	}
	if best >= 0 {
		return best
	}
	wanted := clip(want[0])
	least := len(wanted)/2 + 1
	for i, line := range have {
		if line = clip(line); distanceOf(len(line), len(wanted)) >= least {
			continue
		}
		if d := tools.Distance(line, wanted); d < least {
			best, least = i, d
		}
	}
	return best
}

// show quotes the first line that differs, and gives the lines as they are in the file.
func show(have, want []string, at int) string {
	var b strings.Builder
	for i, w := range want {
		if at+i < len(have) && have[at+i] != w {
			fmt.Fprintf(&b, "Line %d is %q, not %q. ", at+i+1, clip(have[at+i]), clip(w))
			break
		}
	}
	b.WriteString("The file has:")
	for i := range min(len(want), nearShown, len(have)-at) {
		fmt.Fprintf(&b, "\n%d|%s", at+i+1, clip(have[at+i]))
	}
	return b.String()
}

func clip(line string) string {
	if len(line) > nearWidth {
		return readable(whole([]byte(line[:nearWidth]))) + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}
