package ops

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
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
	// A level in JSON or logfmt, in brackets, or in capitals: the word alone could be a part of what is said.
	levelField = regexp.MustCompile(`(?i)(?:"(?:level|severity|lvl|log\.level|levelname)": ?"?|\b(?:level|severity|lvl)=)"?([a-z]+|\d+)|\[(?:[a-z_]+:)?([a-z]+)\]`)
	levelWord  = regexp.MustCompile(`\b(TRACE|DEBUG|DBG|INFO|NOTICE|LOG|WARN|WARNING|WRN|ERROR|ERR|SEVERE|FATAL|CRITICAL|CRIT|PANIC|ALERT|EMERG|EMERGENCY)\b`)
	klog       = regexp.MustCompile(`^([IWEF])\d{4} \d\d:`)
)

// levelOf returns the level that a line names; 0 if none.
func levelOf(line []byte) level {
	start := line[:min(len(line), stampedPart)]
	if m := klog.FindSubmatch(start); m != nil {
		return map[byte]level{'I': 3, 'W': 4, 'E': 5, 'F': 6}[m[1][0]]
	}
	for _, m := range levelField.FindAllSubmatch(start, -1) {
		word := strings.ToLower(string(bytes.Join(m[1:], nil)))
		if l := levelWords[word]; l > 0 {
			return l
		}
		if l, ok := strings.CutSuffix(word, "0"); ok && len(l) == 1 && l >= "1" && l <= "6" { // as pino and bunyan write it
			return level(l[0] - '0')
		}
	}
	if m := levelWord.Find(start); m != nil {
		return levelWords[strings.ToLower(string(m))]
	}
	return 0
}
