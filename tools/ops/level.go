package ops

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// level is how bad a line says it is; the zero level says nothing.
type level int

// levels are the names of all levels, mildest first, as arguments and results write them.
var levels = []string{"", "trace", "debug", "info", "warn", "error", "fatal"}

const numLevels = 7

func (l level) String() string { return levels[l] }

// levelNamed returns the level of that name; 0 if there is none.
func levelNamed(name string) level { return level(max(0, slices.Index(levels, name))) }

// levelWords are what logs write for them. Syslog's "notice" is between info and warn; it counts as info.
var levelWords = map[string]level{
	"trace": 1, "debug": 2, "dbg": 2, "info": 3, "information": 3, "notice": 3, "log": 3, "warn": 4, "warning": 4, "wrn": 4,
	"error": 5, "err": 5, "severe": 5, "fatal": 6, "critical": 6, "crit": 6, "panic": 6, "alert": 6, "emerg": 6, "emergency": 6,
}

var (
	// A level in JSON or logfmt, in brackets, or, see capitals, as a word in capitals.
	levelField = regexp.MustCompile(`(?i)(?:"(?:level|severity|lvl|log\.level|levelname)": ?"?|\b(?:level|severity|lvl)=)"?([a-z]+|\d+)|\[(?:[a-z_]+:)?([a-z]+)\]`)
	// A web server's status: what the server could not do is an error, what the client got wrong a warning.
	status = regexp.MustCompile(`" ([45])\d\d (?:\d+|-)(?: |$)`)
	klog   = regexp.MustCompile(`^([IWEF])\d{4} \d\d:`)
)

// levelOf returns the level that a line names; 0 if none. Each look is taken only at lines that may have what it looks for.
func levelOf(line []byte) level {
	start := line[:min(len(line), stampedPart)]
	if len(start) > 1 && strings.IndexByte("IWEF", start[0]) >= 0 {
		if m := klog.FindSubmatch(start); m != nil {
			return map[byte]level{'I': 3, 'W': 4, 'E': 5, 'F': 6}[m[1][0]]
		}
	}
	if bytes.ContainsAny(start, "=[{") {
		for _, m := range levelField.FindAllSubmatch(start, -1) {
			word := strings.ToLower(string(bytes.Join(m[1:], nil)))
			if l := levelWords[word]; l > 0 {
				return l
			}
			if l, ok := strings.CutSuffix(word, "0"); ok && len(l) == 1 && l >= "1" && l <= "6" { // as pino and bunyan write it
				return level(l[0] - '0')
			}
		}
	}
	if bytes.Contains(start, []byte(`" 4`)) || bytes.Contains(start, []byte(`" 5`)) {
		if m := status.FindSubmatch(start); m != nil {
			return level(m[1][0] - '0')
		}
	}
	return capitals(start)
}

// capitals returns the level that stands in a text as a word in capitals: the word alone could be a part of what is said.
func capitals(text []byte) level {
	for len(text) > 0 {
		n := bytes.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(text)
		}
		if n >= len("ERR") && n <= len("INFORMATION") && isCapital(text[0]) && isCapital(text[n-1]) {
			if word := string(text[:n]); word == strings.ToUpper(word) && levelWords[strings.ToLower(word)] > 0 {
				return levelWords[strings.ToLower(word)]
			}
		}
		text = text[min(len(text), n+1):]
	}
	return 0
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }
