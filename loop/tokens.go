package loop

import (
	"unicode"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/sessions"
)

// Estimates count in quarters of a token, so that they stay integers.
const (
	quarters        = 4
	messageOverhead = 4 // tokens that a provider adds around a message or a call
)

// estimateText guesses how many tokens a text has: four ASCII characters make one, a Chinese, Japanese or Korean
// character is one by itself, and any other character is half of one.
func estimateText(text string) int {
	n := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n += quarters
		} else {
			n += quarters / 2
		}
		i += size
	}
	return (n + quarters - 1) / quarters
}

// estimate guesses how many tokens messages have.
func estimate(messages ...sessions.Message) int {
	n := 0
	for _, m := range messages {
		n += messageOverhead + estimateText(m.Text)
		for _, c := range m.ToolCalls {
			n += messageOverhead + estimateText(c.Name) + estimateText(c.Arguments)
		}
	}
	return n
}

// estimatePrompt guesses how many tokens the system prompt and the tool declarations have.
func estimatePrompt(p *sessions.PromptBuilt) int {
	if p == nil {
		return 0
	}
	return estimateText(p.System) + estimateText(string(p.Tools))
}

// calibration is how far this session's real token counts are from the estimate: what the provider counted for the
// part of the ledger that it has seen, as a fraction of the estimate for the same part. It is kept within a factor of
// four, so that one odd report cannot derail what is built on it.
type calibration struct{ counted, estimated int }

func calibrate(s *sessions.Session) calibration {
	if s.Measured <= 0 || s.MeasuredTo > len(s.Messages) {
		return calibration{1, 1}
	}
	estimated := max(1, estimatePrompt(s.Prompt)+estimate(s.Messages[:s.MeasuredTo]...))
	return calibration{min(max(s.Measured, estimated/4+1), estimated*4), estimated}
}

func (c calibration) apply(estimate int) int {
	return int(int64(estimate) * int64(c.counted) / int64(c.estimated))
}

// factor is how many tokens an estimated one is.
func (c calibration) factor() float64 { return float64(c.counted) / float64(c.estimated) }

// ContextTokens returns how large the session's next prompt is, in tokens: what the provider counted at its last reply,
// plus an estimate of what it has not seen yet, at the ratio of tokens to text that the session has shown so far.
func ContextTokens(s *sessions.Session) int {
	if s.Measured <= 0 || s.MeasuredTo > len(s.Messages) {
		return estimatePrompt(s.Prompt) + estimate(s.Messages...)
	}
	return s.Measured + calibrate(s).apply(estimate(s.Messages[s.MeasuredTo:]...))
}
