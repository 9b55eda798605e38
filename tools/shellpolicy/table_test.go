package shellpolicy

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

// place is where the commands of the tests would run.
func place() Rules {
	return Rules{
		Work: "/data/work/a", Home: "/home/bot", Own: []string{"/data", "/etc/talaria"}, PID: 4242, Contained: true,
	}
}

// TestCommands judges every command of the table.
func TestCommands(t *testing.T) {
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rules Rules
	var verdict tools.Verdict
	var classes []string
	seen := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if head, ok := strings.CutPrefix(line, "== "); ok {
			rules = place()
			words := strings.Fields(head)
			for len(words) > 0 && (words[0] == "bare" || words[0] == "forbidden") {
				rules.Contained = words[0] != "bare"
				if words[0] == "forbidden" {
					rules.Deny = []string{"terraform *apply*", "kubectl delete *"}
				}
				words = words[1:]
			}
			verdict, classes = tools.Verdict(words[0]), words[1:]
			continue
		}
		if line == "" || strings.HasPrefix(line, "# One") || verdict == "" {
			continue
		}
		seen++
		command := strings.ReplaceAll(line, "⏎", "\n")
		got := Judge(command, rules)
		if got.Verdict != verdict {
			t.Errorf("%s\n\tverdict %s, want %s: %+v", line, got.Verdict, verdict, got.Findings)
			continue
		}
		for _, c := range classes {
			if c == "outside" {
				c = string(Outside)
			}
			if !got.Has(Class(c)) {
				t.Errorf("%s\n\tno finding of class %s: %+v", line, c, got.Findings)
			}
		}
		if (got.Reason() == "") != (verdict == tools.Allow) {
			t.Errorf("%s\n\treason %q", line, got.Reason())
		}
	}
	if seen < 300 {
		t.Errorf("only %d commands were judged", seen)
	}
	t.Logf("%d commands", seen)
}

// TestNothingHidesBehindLength: what is not looked into could hold what never runs, and nobody may be there to ask.
func TestNothingHidesBehindLength(t *testing.T) {
	deep := "rm -rf /"
	for range maxDepth + 2 {
		deep = "bash -c " + strconv.Quote(deep)
	}
	for name, command := range map[string]string{
		"long": "# " + strings.Repeat("x", maxCommand) + "\nrm -rf /",
		"deep": deep,
	} {
		if got := Judge(command, Rules{Work: "/work"}); got.Verdict != tools.DenyAlways {
			t.Errorf("%s: %s, %s", name, got.Verdict, got.Reason())
		}
	}
}
