package agenttools

import (
	"regexp"
	"unicode"
)

// suspicions are what a note must not hold, because notes become part of the instructions of later conversations, and
// what is noted may come from a web page or a file.
var suspicions = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(instructions?|rules?|prompts?|guidelines?)\b`), "it tells to ignore instructions"},
	{regexp.MustCompile(`(?i)\byou are now\b|\bact as (if|though)\b|\bpretend (to be|you)\b`), "it gives a new role"},
	{regexp.MustCompile(`(?i)\bsystem prompt\b|</?(system|assistant|instructions?)>|\[(system|inst)\]|<\|im_(start|end)\|>`), "it imitates the frame of a prompt"},
	{regexp.MustCompile(`(?i)\b(do not|don't|never) (tell|inform|mention|show)\b.{0,30}\b(user|person|human|anyone)\b`), "it asks to hide something from the person"},
	{regexp.MustCompile(`(?i)\b(curl|wget|nc)\b[^\n]*(\$\{?\w*(key|token|secret|passw)|/etc/passwd|\.ssh|\.env\b)`), "it sends secrets away"},
	{regexp.MustCompile(`(?i)authorized_keys|\bcat\b[^\n]*(\.ssh|\.netrc|\.aws/credentials)`), "it reaches for credentials"},
	{regexp.MustCompile(`\b(sk-|xox[abprs]-|gh[pousr]_|AKIA|eyJ[A-Za-z0-9_-]+\.)[A-Za-z0-9_-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY`), "it holds what looks like a key or token"},
}

// hidden are characters that a person does not see and a model reads: zero-width ones, those that turn the direction of
// writing, and tags. The joiners of emoji and of some scripts are not among them.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x200b, Hi: 0x200b, Stride: 1},
		{Lo: 0x202a, Hi: 0x202e, Stride: 1},
		{Lo: 0x2060, Hi: 0x2064, Stride: 1},
		{Lo: 0x2066, Hi: 0x2069, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}},
}

// suspicious says why a text must not become a note, empty if it may.
func suspicious(text string) string {
	for _, r := range text {
		if unicode.Is(hidden, r) {
			return "it has invisible characters"
		}
	}
	for _, s := range suspicions {
		if s.pattern.MatchString(text) {
			return s.why
		}
	}
	return ""
}
