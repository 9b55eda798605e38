package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/sessions"
)

const (
	prunedResult   = 200 // bytes of a tool result that is not worth pruning
	prunedArgument = 200 // bytes of one text in the arguments of an old call
	prunedPreview  = 80  // bytes of a pruned result that stay
	worthPruning   = 10  // a tenth of the prompt: saving less is not worth losing the provider's cache
	leastPruned    = 500 // tokens
)

// Prune returns the entry that makes a session's ledger smaller without asking a model: old results of tools are replaced
// by a note, of equal results only the newest stays, and long arguments of old calls are shortened. What a person or
// the model said stays. It fails with ErrNothingToCompress if that would save too little.
func (c *Compressor) Prune(s *sessions.Session) (sessions.Compaction, error) {
	if s.Turn != nil && len(s.Turn.Open) > 0 {
		return sessions.Compaction{}, errOpenCalls(s)
	}
	messages, _ := Repair(s.Messages)
	before := estimate(messages...)
	all := units(messages)
	old := len(all) - len(layOut(messages, c.tailBudget(), c.maxMessages()/2).tail)
	dropRepeated(all)
	for _, u := range all[:old] {
		pruneUnit(u)
	}
	out := carry(s)
	out.Messages = slices.Concat(all...)
	saved := before - estimate(out.Messages...)
	ratio := calibrate(s)
	if saved < leastPruned || ratio.apply(saved) < ContextTokens(s)/worthPruning {
		return sessions.Compaction{}, ErrNothingToCompress
	}
	if err := CheckLedger(out.Messages); err != nil {
		return sessions.Compaction{}, fmt.Errorf("prune: the smaller ledger is not valid: %w", err)
	}
	// Before stays zero, so that nobody judges it: it is no compression.
	out.Turn, out.After = turnIn(s, out.Messages), ratio.apply(estimatePrompt(s.Prompt)+estimate(out.Messages...))
	c.log().Info("old tool results pruned", "saved", ratio.apply(saved), "after", out.After)
	return out, nil
}

// dropRepeated replaces every tool result that a later one repeats.
func dropRepeated(all []unit) {
	seen := map[string]bool{}
	for _, u := range slices.Backward(all) {
		for i := len(u) - 1; i > 0; i-- {
			m := &u[i]
			if len(m.Text) <= prunedResult {
				continue
			}
			if seen[m.Text] {
				m.Text = fmt.Sprintf("[%d bytes are left out: a later call returned exactly the same.]", len(m.Text))
				continue
			}
			seen[m.Text] = true
		}
	}
}

// pruneUnit makes an old call with its results small.
func pruneUnit(u unit) {
	for i := range u {
		m := &u[i]
		if m.Role == sessions.RoleTool && len(m.Text) > prunedResult {
			m.Text = fmt.Sprintf("[%d bytes of an old result are left out to save room; call again if you need them. It began: %s]",
				len(m.Text), prefix(oneLine(m.Text), prunedPreview))
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k := range m.ToolCalls {
			m.ToolCalls[k].Arguments = shortArguments(m.ToolCalls[k].Arguments)
		}
	}
}

// shortArguments shortens the texts in a JSON object. It stays a JSON object.
func shortArguments(arguments string) string {
	if len(arguments) <= prunedArgument {
		return arguments
	}
	var v map[string]any
	if json.Unmarshal([]byte(arguments), &v) != nil {
		return arguments
	}
	short, err := json.Marshal(shortValue(v))
	if err != nil || len(short) >= len(arguments) {
		return arguments
	}
	return string(short)
}

func shortValue(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > prunedArgument {
			head := prefix(v, prunedArgument)
			return fmt.Sprintf("%s… [%d more characters]", head, utf8.RuneCountInString(v)-utf8.RuneCountInString(head))
		}
	case []any:
		for i := range v {
			v[i] = shortValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortValue(v[k])
		}
	}
	return v
}
