package shellpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/tools"
)

// FuzzJudge judges any text: it must come to an end, twice to the same, and what cannot be parsed is never simply run.
func FuzzJudge(f *testing.F) {
	for _, command := range tableCommands(f) {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		first := Judge(command, place())
		if diff := cmp.Diff(first, Judge(command, place())); diff != "" {
			t.Errorf("judged differently the second time: %s", diff)
		}
		if bare := place(); first.Verdict != tools.Allow {
			bare.Contained = false
			if Judge(command, bare).Verdict == tools.Allow {
				t.Error("without a sandbox it is allowed, with one it is not")
			}
		}
	})
}

// TestGenerated builds commands of pieces that are awkward for a shell and lets bash run those that were judged safe.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a shell for each command")
	}
	o := newOracle(t)
	word := rapid.OneOf(
		rapid.SampledFrom([]string{
			"ls", "rm", "-rf", "echo", "a.txt", "b", "'r'm", `r\m`, `"ls"`, "$x", `"$x"`, "${x}", "$'\\x72m'", "$(ls)", "`ls`", "{ls,a}", "{a,b}", "~",
			"*", "?.txt", "[", "]", "-f", "x=rm", "x=ls", "env", "eval", "command", "bash", "-c", "'ls a'", "'rm a'", "xargs", "find", ".", "-exec", "{}", `\;`, "+",
			"time", "!", "test", "-v", "'a[$(rm)]'", "x='a[$(rm)]'", "$((x))", "$((1+1))", "printf", "trap", "EXIT", "read", "export", "declare", "unset", "set", "--",
			"${x:-rm}", "${y:=rm}", "<(ls)", "\"$(rm)\"", "f", "nohup", "nice", "-n", "1", "timeout", "cd", "true", "exec", "builtin", "x+=m", "x", "--",
		}),
		rapid.StringMatching(`[a-z$'"{},~*=\\-]{1,4}`),
	)
	join := rapid.SampledFrom([]string{" ", " ", " ", " ", "; ", " | ", " && ", " & ", "\n", "", " > ", " < ", " <<< ", " # "})
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		prefix := rapid.SampledFrom([]string{"", "", "", "f() { ", "( ", "for x in ", "if ", "while ", "case x in x) ", "[[ ", "(( ", "cat <<E\n"}).Draw(rt, "prefix")
		b.WriteString(prefix)
		for range rapid.IntRange(1, 7).Draw(rt, "words") {
			b.WriteString(word.Draw(rt, "word"))
			b.WriteString(join.Draw(rt, "join"))
		}
		b.WriteString(map[string]string{
			"f() { ": "; }; f", "( ": ")", "for x in ": "; do $x; done", "if ": "; then ls; fi", "while ": "; do break; done",
			"case x in x) ": ";; esac", "[[ ": " ]]", "(( ": "))", "cat <<E\n": "\nE\n",
		}[prefix])
		o.check(b.String())
	})
}
