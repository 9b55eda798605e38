package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/tools"
)

// ResultsFolder is the folder, in the work folder, for the whole of what was too long to be shown.
const ResultsFolder = "results"

const (
	maxResultBytes = 50_000 // of a result as the model sees it, for results of few but very long lines
	shortJSON      = 160    // bytes of a line of JSON that is left as it is
	emptyResult    = "(The tool ran and returned nothing.)"
	emptyFailure   = "(The tool failed and did not say why.)"
)

// shape returns a tool's result as it goes into the ledger. What is too long is cut in the middle, with the omission
// marked and the whole kept in a file of the work folder. Results of ranged tools have a page limit of their own.
func shape(r tools.Result, spec tools.Spec, scope tools.Scope, limits Limits) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(r.Text, "\x00", ""), "\uFFFD")
	switch {
	case strings.TrimSpace(text) == "" && r.Failed:
		return emptyFailure
	case strings.TrimSpace(text) == "":
		return emptyResult
	case spec.Ranged:
		return text
	}
	text = readable(text)
	head, tail := cut(text, limits.ResultHead, limits.ResultTail, maxResultBytes)
	omitted := text[len(head) : len(text)-len(tail)]
	if omitted == "" {
		return text
	}
	where := "The rest could not be kept."
	if file, err := keep(scope, text); err == nil {
		where = fmt.Sprintf("The whole result is in the file %s: read it by range, from %s on.", file, end(head))
	}
	return fmt.Sprintf("%s\n[... %d lines (%d bytes) are left out here. %s ...]\n%s",
		strings.TrimSuffix(head, "\n"), max(1, strings.Count(omitted, "\n")), len(omitted), where, tail)
}

// end says where a text ends, as the line and, if that is cut, the byte of it where the next part begins.
func end(text string) string {
	line := fmt.Sprintf("line %d", strings.Count(text, "\n")+1)
	if n := len(text) - 1 - strings.LastIndexByte(text, '\n'); n > 0 {
		line += fmt.Sprintf(", byte %d", n)
	}
	return line
}

// readable returns a JSON text of few but long lines with one value a line, so that it can be read, cut and read again
// by range. Anything else stays as it is.
func readable(text string) string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) <= shortJSON || trimmed[0] != '{' && trimmed[0] != '[' || len(trimmed)/(1+strings.Count(trimmed, "\n")) <= shortJSON {
		return text
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(trimmed), "", "  ") != nil {
		return text
	}
	return out.String()
}

// cut returns the beginning and the end of a text that has more than headLines+tailLines lines or more than limit
// bytes, and the whole text as head otherwise.
func cut(text string, headLines, tailLines, limit int) (head, tail string) {
	headEnd, tailStart := afterLines(text, headLines), beforeLines(text, tailLines)
	if headEnd >= tailStart {
		headEnd, tailStart = len(text), len(text)
	}
	if headEnd+len(text)-tailStart > limit {
		headEnd = min(headEnd, limit*2/3)
		if tailStart == len(text) {
			tailStart = 0
		}
		tailStart = max(tailStart, len(text)-limit/3)
	}
	return prefix(text, headEnd), suffix(text, len(text)-tailStart)
}

// afterLines returns the offset behind the first n lines.
func afterLines(text string, n int) int {
	at := 0
	for ; n > 0; n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// beforeLines returns the offset of the last n lines; a line break at the very end begins no line.
func beforeLines(text string, n int) int {
	if n <= 0 {
		return len(text)
	}
	at := len(strings.TrimSuffix(text, "\n"))
	for ; n > 0; n-- {
		i := strings.LastIndexByte(text[:at], '\n')
		if i < 0 {
			return 0
		}
		at = i
	}
	return at + 1
}

// prefix and suffix return at most n bytes of a text without breaking a character.
func prefix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func suffix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	from := len(text) - n
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// keep writes a whole result into the work folder and returns its path there.
func keep(scope tools.Scope, text string) (string, error) {
	root, err := os.OpenRoot(scope.Work)
	if err != nil {
		return "", fmt.Errorf("open work folder: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(ResultsFolder, 0o700); err != nil {
		return "", fmt.Errorf("make results folder: %w", err)
	}
	file := path.Join(ResultsFolder, fileName(scope.Turn)+"-"+fileName(scope.CallID)+".txt")
	if err := root.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	return file, nil
}

// fileName returns an id as a part of a file name.
func fileName(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	return prefix(safe, 60)
}
