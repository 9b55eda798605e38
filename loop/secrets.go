package loop

import (
	"regexp"
	"strings"
)

// secretShapes are the shapes of secrets that turn up in conversations and tool results. They must not get into a summary:
// it outlives the messages that it was made from, and the model that writes it may be another provider's.
var secretShapes = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)` +
	`|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b` + // AWS
	`|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}` + // code hosts
	`|\bxox[a-z]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}` + // Slack
	`|\b\d{6,}:[A-Za-z0-9_-]{30,}` + // Telegram
	`|\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}` + // Discord
	`|\bsk-[A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{30,}` + // model providers
	`|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`) // JSON web tokens

// namedSecret is a value behind a name that says that it is secret; urlSecret a password inside an address.
var (
	namedSecret = regexp.MustCompile(`(?i)\b((?:\w+[_-])?(?:password|passwd|passphrase|passwort|kennwort|secret|api[_-]?key|access[_-]?key|` +
		`private[_-]?key|auth[_-]?token|access[_-]?token|token)["']?(?:\s*[:=]\s*|\s+(?:is|ist)\s+)["']?|密码[是为:：\s]+|bearer\s+)([^\s"',;，。]{4,})`)
	urlSecret = regexp.MustCompile(`(\w://[^/\s:@]+:)[^/\s@]+@`)
)

const redacted = "[redacted]"

// secretWords are those of which a line has one if namedSecret can match in it; looking for them first is much faster.
var secretWords = []string{"pass", "kennwort", "secret", "key", "token", "密码", "bearer"}

// WithoutSecrets takes everything out of a text that looks like a secret.
func WithoutSecrets(text string) string {
	text = secretShapes.ReplaceAllString(text, redacted)
	if strings.Contains(text, "://") {
		text = urlSecret.ReplaceAllString(text, "${1}"+redacted+"@")
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		small := strings.ToLower(line)
		for _, word := range secretWords {
			if strings.Contains(small, word) {
				line = namedSecret.ReplaceAllString(line, "${1}"+redacted)
				break
			}
		}
		out.WriteString(line)
	}
	return out.String()
}
