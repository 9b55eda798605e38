package loop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// A summary is notes: sections of lines under fixed headings. The model writes most of them, and a model forgets a little
// each time that it rewrites them. So the program takes part: what stood under a lasting heading before comes back if
// the model left it out without saying that it is obsolete, and what people said and which files were touched, the
// program writes down itself.

const (
	factsHeading    = "## Facts to keep"
	filesHeading    = "## Files"
	wordsHeading    = "## In people's own words" // written by the program alone
	obsoleteHeading = "## Obsolete"              // what the model withdraws; it does not stay in the notes
	maxWords        = 300                        // bytes of one line of what a person said
	maxSaid         = 20_000                     // bytes of a message that are looked at
	maxFiles        = 50                         // names that the program adds
)

// lastingHeadings are the sections whose lines come back.
var lastingHeadings = []string{"## Constraints and preferences", "## Decisions", filesHeading, factsHeading}

// section is a heading with its lines; the first may have none.
type section struct {
	heading string
	lines   []string
}

// sections are those of a summary, in order.
type sections []section

func parseNotes(text string) sections {
	out := sections{{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if strings.HasPrefix(line, "## ") {
			out = append(out, section{heading: line})
			continue
		}
		if strings.TrimSpace(line) != "" {
			last := &out[len(out)-1]
			last.lines = append(last.lines, line)
		}
	}
	return out
}

func (n sections) String() string {
	var parts []string
	for _, s := range n {
		lines := s.lines
		if s.heading != "" {
			lines = append([]string{s.heading}, lines...)
		}
		if len(lines) > 0 {
			parts = append(parts, strings.Join(lines, "\n"))
		}
	}
	return strings.Join(parts, "\n")
}

// lines returns what stands under a heading, "none" left out.
func (n sections) lines(heading string) []string {
	var out []string
	for _, s := range n {
		if strings.EqualFold(s.heading, heading) {
			for _, line := range s.lines {
				if plain := plainLine(line); plain != "" && plain != "none" {
					out = append(out, line)
				}
			}
		}
	}
	return out
}

// take removes a section and returns its lines.
func (n *sections) take(heading string) []string {
	lines := n.lines(heading)
	*n = slices.DeleteFunc(*n, func(s section) bool { return strings.EqualFold(s.heading, heading) })
	return lines
}

// add puts lines under a heading, which comes to the end if there is none yet.
func (n *sections) add(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	for i := range *n {
		if s := &(*n)[i]; strings.EqualFold(s.heading, heading) {
			s.lines = append(slices.DeleteFunc(s.lines, func(l string) bool { return plainLine(l) == "none" }), lines...)
			return
		}
	}
	*n = append(*n, section{heading, lines})
}

// plainLine is a line as it is compared: without bullet, case and spacing.
func plainLine(line string) string {
	line = strings.TrimLeft(strings.TrimSpace(line), "-*•+ \t")
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(line), " ")), ".")
}

// lasting returns the lines of earlier notes that a new version must have.
func lasting(earlier string) []string {
	var out []string
	n := parseNotes(earlier)
	for _, heading := range lastingHeadings {
		out = append(out, n.lines(heading)...)
	}
	return out
}

// completeNotes returns the notes that a model wrote with what it must not lose: at most about half of limit, in tokens,
// of lines that come back, and a third of what people said.
func completeNotes(written, earlier string, middle []unit, limit int) string {
	n, before := parseNotes(written), parseNotes(earlier)
	obsolete := map[string]bool{}
	for _, line := range n.take(obsoleteHeading) {
		obsolete[plainLine(line)] = true
	}
	n.take(wordsHeading)
	all := plainLine(strings.ReplaceAll(n.String(), "\n", " "))
	room := limit / 2
	for _, heading := range slices.Backward(lastingHeadings) { // facts before files, if there is not room for everything
		var back []string
		for _, line := range slices.Backward(before.lines(heading)) {
			plain := plainLine(line)
			if strings.Contains(all, plain) || obsolete[plain] {
				continue
			}
			if room -= estimateText(line); room < 0 {
				break
			}
			back = append(back, line)
		}
		slices.Reverse(back)
		n.add(heading, back)
	}
	n.add(filesHeading, missingFiles(n.String(), middle))
	n.add(wordsHeading, ownWords(before.lines(wordsHeading), middle, limit/3))
	return n.String()
}

// fileArguments are the names under which tools take files.
var fileArguments = []string{"path", "file", "file_path", "filename", "paths", "files"}

// missingFiles returns lines for the files that calls named and that a text does not.
func missingFiles(text string, middle []unit) []string {
	var out []string
	for _, u := range middle {
		for _, c := range u[0].ToolCalls {
			var arguments map[string]any
			if json.Unmarshal([]byte(c.Arguments), &arguments) != nil {
				continue
			}
			for _, name := range fileArguments {
				list, ok := arguments[name].([]any)
				if !ok {
					list = []any{arguments[name]}
				}
				for _, v := range list {
					file, ok := v.(string)
					line := "- " + prefix(oneLine(file), maxWords)
					if ok && file != "" && file != "." && !strings.Contains(text, file) && !slices.Contains(out, line) && len(out) < maxFiles {
						out = append(out, line)
					}
				}
			}
		}
	}
	return out
}

// memorable finds what people mark as to be kept in mind.
var memorable = regexp.MustCompile(`(?i)\b(?:remember|keep in mind|don'?t forget|important|always|never|must|from now on|my \w+ is|` +
	`merk\w*|wichtig|immer|niemals|nie|vergiss nicht|ab jetzt|recuerda|importante|siempre|nunca|rappelle|toujours|jamais)\b|记住|记得|别忘|重要|务必|必须|不要|覚えて|忘れない|必ず`)

var leftOut = regexp.MustCompile(`^\(\d+ earlier ones left out\)$`)

// ownWords returns what people said as lines of at most limit tokens: what they said before, then what the middle holds.
// If there is not room for everything, what they marked as important stays, and then the newest.
func ownWords(before []string, middle []unit, limit int) []string {
	var all []string
	omitted := 0
	for _, line := range before {
		if leftOut.MatchString(line) {
			_, _ = fmt.Sscanf(line, "(%d", &omitted)
			continue
		}
		all = append(all, line)
	}
	for _, u := range middle {
		if u.role() == sessions.RoleUser {
			all = append(all, quoted(u[0].Text)...)
		}
	}
	keep := make([]bool, len(all))
	for _, first := range []bool{true, false} { // what is marked, then the rest; the newest first
		for i, line := range slices.Backward(all) {
			if !keep[i] && (!first || memorable.MatchString(line)) {
				if size := estimateText(line) + 1; size <= limit {
					keep[i], limit = true, limit-size
				}
			}
		}
	}
	var out []string
	for i, line := range all {
		if keep[i] {
			out = append(out, line)
		} else {
			omitted++
		}
	}
	if omitted > 0 {
		out = append([]string{fmt.Sprintf("(%d earlier ones left out)", omitted)}, out...)
	}
	return out
}

// quoted returns a person's message as lines: a short one whole, of a long one the beginning and what is marked in it.
func quoted(text string) []string {
	flat := strings.Join(strings.Fields(WithoutSecrets(prefix(text, maxSaid))), " ")
	if len(flat) <= maxWords {
		return []string{"- " + flat}
	}
	out := []string{"- " + prefix(flat, maxWords/2) + " …"}
	rest := flat[len(prefix(flat, maxWords/2)):]
	for _, at := range memorable.FindAllStringIndex(rest, 3) {
		from := max(strings.LastIndexAny(rest[:at[0]], ".!?\u3002\uff01\uff1f"), 0)
		out = append(out, "- … "+strings.TrimLeft(prefix(strings.ToValidUTF8(rest[from:], ""), maxWords), ".!?。！？ "))
	}
	return out
}
