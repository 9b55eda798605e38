package shellpolicy

import (
	"slices"
	"strings"
)

// What the subcommands of git do.
var (
	gitLooks = strings.Fields(`status log diff show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file grep
		rev-list merge-base name-rev whatchanged count-objects check-ignore check-attr for-each-ref show-ref show-branch var version
		help diff-tree diff-index diff-files range-diff cherry verify-commit fsck archive`)
	gitKeeps  = strings.Fields(`add commit init mv merge cherry-pick revert switch checkout restore reset rm stash branch tag worktree rebase am apply format-patch notes`)
	gitTalks  = strings.Fields(`clone fetch pull push ls-remote submodule remote send-email request-pull svn p4 lfs`)
	gitLoses  = strings.Fields(`clean gc prune filter-branch filter-repo reflog update-ref replace read-tree checkout-index`)
	gitStarts = "--ext-diff --textconv -O --open-files-in-pager --upload-pack --receive-pack --exec -x --extcmd --output --exec-path --template --config-env"
)

// git looks at git.
func (s *scope) git(i invocation) {
	if !s.known(i) {
		return
	}
	args := i.args()
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		switch w := args[0]; {
		case w.is("--version", "--help"):
			return
		case w.is("--no-pager", "-p", "--paginate", "--literal-pathspecs", "--no-optional-locks"):
		case w.is("-C") && len(args) > 1:
			s.reads(args[1])
			if p := s.resolve(args[1].text); !within(p, s.rules.Work) {
				s.ask(Outside, "It works on %s, outside of the work folder.", quote(args[1].text))
			}
			args = args[1:]
		default:
			s.ask(Unclear, "It runs `git` with %s, which can run programs or reach other folders.", quote(w.text))
			return
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	sub, rest := args[0].text, args[1:]
	for _, w := range rest {
		if w.fed {
			s.ask(Unclear, "It runs `git` with names that are known only when it runs.")
		}
		for bad := range strings.FieldsSeq(gitStarts) {
			if w.is("--") {
				break
			}
			short := len(bad) == 2
			if short && (sub == "rebase" || sub == "grep") && hasOption(w.text, bad) || !short && hasOption(w.text, bad) && len(w.text) > 3 {
				s.ask(Unclear, "It runs `git` with %s, which can write files or run programs.", quote(w.text))
			}
		}
	}
	s.outsideArguments(invocation{words: append([]word{args[0]}, rest...)})
	switch {
	case slices.Contains(gitLooks, sub):
		s.gitCode()
	case slices.Contains(gitKeeps, sub):
		s.gitCode()
		if why := gitLoss(sub, rest); why != "" {
			s.ask(Destructive, "%s", why)
		}
	case slices.Contains(gitTalks, sub):
		s.gitTalk(sub, rest)
	case slices.Contains(gitLoses, sub):
		if sub == "clean" && hasFlag(rest, "-n", "--dry-run") && !hasFlag(rest, "-f", "--force") || sub == "reflog" && len(rest) == 0 {
			return
		}
		s.ask(Destructive, "It deletes files or history that cannot be brought back (git %s).", sub)
	case sub == "config" && (len(rest) > 0 && rest[0].is("--get", "--list", "-l", "--get-all", "get", "list") || len(rest) == 1):
		s.ask(Secrets, "It reads git's configuration, which may hold secrets.")
	case sub == "bisect" || sub == "mergetool" || sub == "difftool":
		s.ask(Code, "It runs programs through `git %s`.", sub)
	default:
		s.ask(Unclear, "It runs `git %s`, which can run programs.", sub)
	}
}

// gitCode: a repository's configuration and hooks can run programs at almost every command. In a sandbox that is no more
// than what else may run there, and no reason not to allow a push for good.
func (s *scope) gitCode() {
	if s.rules.Contained {
		return
	}
	s.ask(Code, "It runs `git`, which runs the programs that the repository's hooks and configuration name.")
}

// gitLoss says what a subcommand that usually keeps everything would lose.
func gitLoss(sub string, rest []word) string {
	plainOperands := operands(rest)
	switch sub {
	case "reset":
		if hasFlag(rest, "--hard", "--merge", "--keep") {
			return "It throws away changes that are not committed (git reset)."
		}
	case "checkout":
		if hasFlag(rest, "-b", "--orphan", "--track") && !hasFlag(rest, "-f", "--force") {
			return ""
		}
		separated := slices.ContainsFunc(rest, func(w word) bool { return w.is("--") })
		if separated || hasFlag(rest, "-f", "-B", "--force", "--pathspec-from-file", "--ours", "--theirs", "-p", "--patch") || len(plainOperands) != 1 ||
			plainOperands[0].glob || strings.ContainsAny(plainOperands[0].text, "./:*") {
			return "It may throw away changes that are not committed (git checkout)."
		}
	case "switch":
		if hasFlag(rest, "-f", "--force", "--discard-changes", "-C", "--force-create") {
			return "It throws away changes that are not committed (git switch)."
		}
	case "restore":
		if !hasFlag(rest, "--staged", "-S") || hasFlag(rest, "--worktree", "-W") {
			return "It throws away changes that are not committed (git restore)."
		}
	case "branch":
		if hasFlag(rest, "-d", "-D", "--delete", "-f", "--force", "-M", "-C") {
			return "It deletes or moves a branch."
		}
	case "tag":
		if hasFlag(rest, "-d", "--delete", "-f", "--force") {
			return "It deletes or moves a tag."
		}
	case "stash":
		if len(rest) > 0 && rest[0].is("drop", "clear") {
			return "It deletes changes that were put aside (git stash)."
		}
	case "worktree", "notes":
		if len(rest) > 0 && rest[0].is("remove", "prune") {
			return "It deletes files (git " + sub + ")."
		}
	case "rm":
		if hasFlag(rest, "-r", "-f", "--force") || slices.ContainsFunc(rest, func(w word) bool { return w.glob }) {
			return "It deletes files (git rm)."
		}
	}
	return ""
}

func (s *scope) gitTalk(sub string, rest []word) {
	if sub == "remote" && (len(rest) == 0 || rest[0].is("-v", "get-url")) {
		return
	}
	s.ask(Network, "It talks to other machines (git %s).", sub)
	s.gitCode()
	forced := hasFlag(rest, "-f", "--force", "--force-with-lease", "--delete", "-d", "--mirror", "--prune")
	for _, w := range operands(rest) {
		forced = forced || strings.HasPrefix(w.text, "+") || strings.HasPrefix(w.text, ":")
		if strings.HasPrefix(w.text, "ext::") || strings.HasPrefix(w.text, "fd::") {
			s.ask(Unclear, "It runs a program in place of a connection (%s).", quote(w.text))
		}
	}
	if sub == "push" && forced {
		s.ask(Destructive, "It overwrites or deletes what others may have pushed (git push).")
	}
	if sub == "submodule" && len(rest) > 0 && rest[0].is("foreach") {
		s.ask(Unclear, "It runs a command in every submodule.")
	}
}
