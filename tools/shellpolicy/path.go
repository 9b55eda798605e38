package shellpolicy

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// resolve returns the absolute path that a word stands for. Relative ones are taken from the folder that the command
// starts in: what it may change to lies below that.
func (a *analysis) resolve(p string) string {
	if !path.IsAbs(p) {
		p = a.rules.Dir + "/" + p
	}
	return path.Clean(p)
}

// within tells whether a clean path is a folder or lies in it.
func within(p, folder string) bool {
	return folder != "" && (p == folder || strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/"))
}

// streams are the devices that do no harm.
var streams = regexp.MustCompile(`^/dev/(null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd/[0-9]+)$`)

// sockets are the names that bash opens connections by.
var sockets = regexp.MustCompile(`^/dev/(tcp|udp)(/|$)`)

// disks are devices whose contents are lost when they are written.
var disks = regexp.MustCompile(`^/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|sr|ram|zram|nbd|rbd|bcache|disk/|mapper/|mem$|kmem$|port$)`)

// secretFiles are the names of files that hold credentials.
var secretFiles = regexp.MustCompile(`(^|/)(\.env(\.[^/]*)?|\.netrc|_netrc|\.pgpass|\.my\.cnf|\.git-credentials|\.npmrc|\.pypirc|\.htpasswd|` +
	`\.vault-token|\.dockercfg|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|[^/]+\.(pem|key|p12|pfx|kdbx|jks|keystore)|` +
	`credentials(\.json)?|secrets?\.(ya?ml|json|toml|env)|service[-_]account[^/]*\.json|authorized_keys|shadow-?|gshadow-?|sudoers|` +
	`\.bash_history|\.zsh_history|\.psql_history|\.mysql_history)$`)

// secretFolders hold credentials.
var secretFolders = regexp.MustCompile(`(^|/)(\.ssh|\.aws|\.gnupg|\.kube|\.docker|\.azure|\.config/(gcloud|gh|op)|\.password-store|sudoers\.d|run/secrets)(/|$)`)

// examples are names that look like a secret and are none.
var examples = regexp.MustCompile(`(^|/)\.env\.(example|sample|template|dist)$`)

// bait are names of secrets, against which globs are tried.
var bait = []string{
	".env", ".env.local", ".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc", ".ssh", ".aws", ".gnupg", ".kube",
	"id_rsa", "id_ed25519", "shadow", "credentials", "server.pem", "server.key", "secrets.yaml", ".bash_history",
}

// insides are what the kernel shows of processes and of itself.
var insides = regexp.MustCompile(`^/proc/([^/]+/(task/[^/]+/)?(environ|mem|maps|fd|root|cwd|cmdline)(/|$)|kcore|kmem)`)

// secret tells whether a word names a file with credentials.
func secret(p string, glob bool) bool {
	if examples.MatchString(p) {
		return false
	}
	if secretFiles.MatchString(p) || secretFolders.MatchString(p) || insides.MatchString(p) {
		return true
	}
	if !glob {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "*" || !strings.ContainsAny(part, "*?[") {
			continue
		}
		for _, b := range bait {
			if ok, err := path.Match(part, b); (ok || err != nil) && strings.HasPrefix(b, ".") == strings.HasPrefix(part, ".") && meant(part) {
				return true
			}
		}
	}
	return strings.HasPrefix(p, "/proc/")
}

// meant tells whether a pattern says enough of a name to have been meant for it: "*.go" and "*.???" are not.
func meant(pattern string) bool {
	return strings.HasPrefix(pattern, ".") || len(strings.Trim(pattern, "*?[].")) > 2
}

// reads looks at a path that is read.
func (a *analysis) reads(w word) {
	if !w.known {
		a.ask(Unclear, "It reads %s, whose name is known only when it runs.", quote(w.text))
		return
	}
	p := a.resolve(w.text)
	switch {
	case streams.MatchString(p):
	case sockets.MatchString(p):
		a.ask(Network, "It opens a network connection through %s.", quote(w.text))
	case a.own(p):
		a.ask(Self, "It reads %s, which belongs to the gateway.", quote(w.text))
	case secret(p, w.glob):
		a.ask(Secrets, "It reads %s, which may hold secrets.", quote(w.text))
	case strings.HasPrefix(p, "/dev/"):
		a.ask(System, "It reads the device %s.", quote(w.text))
	case within(p, a.rules.Work) || a.rules.Contained || readable.MatchString(p):
	default:
		a.ask(Outside, "It reads %s, outside of the work folder.", quote(w.text))
	}
}

// readable are the places that every program reads from anyway.
var readable = regexp.MustCompile(`^/(usr|bin|lib|lib32|lib64|sbin|etc/(os-release|hostname|timezone|localtime|mime\.types|alpine-release|debian_version)|proc/(cpuinfo|meminfo|loadavg|uptime|version|filesystems))(/|$)`)

// own tells whether a path is the gateway's and not the conversation's.
func (a *analysis) own(p string) bool {
	if within(p, a.rules.Work) {
		return false
	}
	return slices.ContainsFunc(a.rules.Own, func(o string) bool { return within(p, o) })
}

// habits are files of the work folder that other programs run or obey: its shells' and git's.
var habits = regexp.MustCompile(`(^|/)(\.git/(hooks(/|$)|config$|info/attributes$)|\.(bashrc|bash_profile|bash_login|profile|bash_logout|zshrc|zshenv|gitconfig|inputrc|curlrc|wgetrc)$|\.config/git/)`)

// writesTo looks at a path that is written; what says how, for the sentence: "deletes", "changes the rights of".
func (a *analysis) writesTo(w word, what string) {
	if what == "" {
		what = "writes to"
	}
	if !w.known {
		a.ask(Unclear, "It %s %s, whose name is known only when it runs.", what, quote(w.text))
		return
	}
	p := a.resolve(w.text)
	a.writes = append(a.writes, p)
	switch {
	case streams.MatchString(p):
	case sockets.MatchString(p):
		a.ask(Network, "It opens a network connection through %s.", quote(w.text))
	case disks.MatchString(p) || strings.HasPrefix(p, "/dev/") && w.glob:
		a.never(System, "It %s the device %s directly.", what, quote(w.text))
	case a.own(p):
		a.ask(Self, "It %s %s, which belongs to the gateway.", what, quote(w.text))
	case p == "/proc/sysrq-trigger":
		a.never(System, "It %s %s, which can stop the machine.", what, quote(w.text))
	case systemPath(p) && !within(p, a.rules.Work):
		a.ask(System, "It %s %s, which belongs to the system.", what, quote(w.text))
	case secret(p, w.glob):
		a.ask(Secrets, "It %s %s, which may hold secrets.", what, quote(w.text))
	case !within(p, a.rules.Work):
		a.ask(Outside, "It %s %s, outside of the work folder.", what, quote(w.text))
	case habits.MatchString(p):
		a.ask(Unclear, "It %s %s, which changes what other programs do.", what, quote(w.text))
	}
}

var systemFolders = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var",
}

func systemPath(p string) bool {
	return slices.ContainsFunc(systemFolders, func(f string) bool { return f != "/root" && within(p, f) })
}

// wipes looks at a path that is deleted, or changed, with all that is below it. It returns whether that is out of the
// question.
func (a *analysis) wipes(w word, what string) bool {
	if !w.known {
		return false
	}
	p := a.resolve(w.text)
	if w.glob { // what stands before the pattern loses all or part of what it holds
		for strings.ContainsAny(path.Base(p), "*?[") && p != "/" {
			base := path.Base(p)
			if p = path.Dir(p); len(strings.Trim(base, "*?[].!^")) > 0 && p != "/" {
				return false
			}
		}
	}
	home := w.home && p == a.rules.Work || a.rules.Home != "" && (p == a.rules.Home || within(a.rules.Home, p)) && p != a.rules.Work
	someones := strings.HasPrefix(p, "/home/") && strings.Count(p, "/") == 2 || p == "/home" || p == "/root"
	top := p == "/" || slices.Contains(systemFolders, p) || path.Dir(p) == "/usr" || path.Dir(p) == "/var" && p != "/var/tmp"
	deep := slices.ContainsFunc([]string{"/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/sys", "/proc", "/dev"}, func(f string) bool { return within(p, f) })
	if (home || someones || top || deep) && (!within(p, a.rules.Work) || home) {
		a.never(Destructive, "It %s %s, a home folder or a part of the system, with all that is in it.", what, quote(w.text))
		return true
	}
	return false
}
