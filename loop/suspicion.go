package loop

import (
	"fmt"
	"regexp"
	"unicode"
)

// suspicion is one way in which a text tries to give an assistant orders that its people did not give.
type suspicion struct {
	why  string
	says *regexp.Regexp
}

// takeovers are those ways, for any text.
var takeovers = []suspicion{
	{"it wants earlier instructions to be ignored", regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+|any\s+|every\s+|of\s+|the\s+|your\s+|my\s+|these\s+)*` +
		`(?:previous|prior|above|earlier|preceding|system|former|safety)\s+(?:\w+\s+)?(?:instructions?|prompts?|rules?|messages?|guidelines?|directives?)` +
		`|ignorier\w*\s+(?:alle\s+|die\s+)*(?:vorherigen|bisherigen|obigen|früheren)\s+(?:anweisungen|regeln|befehle)` +
		`|ignore[zr]?\s+(?:toutes\s+)?les\s+(?:instructions|consignes)\s+précédentes|ignora\s+(?:todas\s+)?las\s+instrucciones\s+anteriores` +
		`|(?:忽略|无视|忘记)(?:掉)?(?:之前|以上|先前|前面|所有|全部|一切)+(?:的)?(?:所有)?(?:指令|指示|提示|规则|命令)`)},
	{"it wants another role for the assistant", regexp.MustCompile(`(?i)\byou are (?:now|no longer)\s+(?:an?\s+)?(?:dan\b|jailbr\w+|unrestricted|unfiltered|evil|root|the (?:system|developer))` +
		`|\bact as (?:if|though) you (?:have|had) no (?:restrictions|limits|rules)|\bdeveloper mode (?:enabled|on)\b`)},
	{"it wants something to be kept from people", regexp.MustCompile(`(?i)\b(?:do not|don'?t|never) (?:tell|inform|mention (?:this|it) to|show (?:this|it) to|alert) (?:the |your )?(?:users?|persons?|humans?|owner)\b` +
		`|\bwithout (?:telling|informing|the knowledge of) the (?:user|person|human)`)},
	{"it wants the system prompt or secrets", regexp.MustCompile(`(?i)\b(?:reveal|print|output|repeat|send|leak|show)\s+(?:me\s+)?(?:your|the)\s+(?:full\s+|entire\s+|hidden\s+)?(?:system prompt|initial instructions|api keys?|credentials)` +
		`|\b(?:curl|wget|nc|fetch)\b[^\n]{0,200}\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)` +
		`|\bcat\s+[^\n]{0,80}(?:\.env\b|id_rsa|id_ed25519|\.netrc|\.aws/credentials|/etc/shadow)`)},
	{"it has instructions in a hidden comment", regexp.MustCompile(`(?is)<!--[^>]*?\b(?:ignore|instruction|system prompt|secret|assistant must|you must)\b.*?-->` +
		`|<[a-z]+[^>]{0,200}style\s*=\s*["'][^"']{0,100}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)`)},
}

// strictly are more of them, for texts that are to hold plain facts only. In a project's file they could be meant well.
var strictly = []suspicion{
	{"it tells to ignore instructions", regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(instructions?|rules?|prompts?|guidelines?)\b`)},
	{"it gives a new role", regexp.MustCompile(`(?i)\byou are now\b|\bact as (if|though)\b|\bpretend (to be|you)\b`)},
	{"it imitates the frame of a prompt", regexp.MustCompile(`(?i)\bsystem prompt\b|</?(system|assistant|instructions?)>|\[(system|inst)\]|<\|im_(start|end)\|>`)},
	{"it asks to hide something from the person", regexp.MustCompile(`(?i)\b(do not|don't|never) (tell|inform|mention|show)\b.{0,30}\b(user|person|human|anyone)\b`)},
	{"it sends secrets away", regexp.MustCompile(`(?i)\b(curl|wget|nc)\b[^\n]*(\$\{?\w*(key|token|secret|passw)|/etc/passwd|\.ssh|\.env\b)`)},
	{"it reaches for credentials", regexp.MustCompile(`(?i)authorized_keys|\bcat\b[^\n]*(\.ssh|\.netrc|\.aws/credentials)`)},
	{"it holds what looks like a key or token", regexp.MustCompile(`\b(sk-|xox[abprs]-|gh[pousr]_|AKIA|eyJ[A-Za-z0-9_-]+\.)[A-Za-z0-9_-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY`)},
}

// Suspicious says, in a few words, why a text looks as if somebody wanted to take the assistant over with it; empty if it
// does not. It is meant for texts from outside: context files, results of tools.
func Suspicious(text string) string {
	for _, r := range text {
		if invisible(r) {
			return fmt.Sprintf("it has invisible characters (U+%04X)", r)
		}
	}
	return suspected(takeovers, text)
}

// SuspiciousNote is Suspicious, and stricter, for what becomes part of the assistant's own instructions: its notes. What is
// noted may come from a web page or a file.
func SuspiciousNote(text string) string {
	if why := suspected(strictly, text); why != "" {
		return why
	}
	return Suspicious(text)
}

func suspected(of []suspicion, text string) string {
	for _, s := range of {
		if s.says.MatchString(text) {
			return s.why
		}
	}
	return ""
}

// invisible tells whether a character can hide text or turn it around. Joiners are none: languages and emoji need them.
func invisible(r rune) bool {
	switch {
	case r == 0x200b, r == 0xfeff, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2064, r >= 0x2066 && r <= 0x2069:
		return true
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return unicode.Is(unicode.Co, r)
}
