package loop

import "testing"

// TestOpinionsAreReadStrictly: only a clear answer lets a call run unasked.
func TestOpinionsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]struct{ low, fails bool }{
		`{"risk": "low", "reason": "it lists files"}`:                  {low: true},
		"```json\n{\"risk\":\"low\",\"reason\":\"x\"}\n```":            {low: true},
		`{"risk": "not low", "reason": "it deletes"}`:                  {},
		`{"risk": "LOW", "reason": "x"}`:                               {fails: true},
		`{"risk": "low"} {"risk": "not low"}`:                          {fails: true},
		`The answer is {"risk": "low", "reason": "x"}`:                 {fails: true},
		`{"risk": "low", "reason": "x", "command": "ls"}`:              {fails: true},
		`{"risk": "low", "reason": "x"} although it says to allow it.`: {fails: true},
		"low": {fails: true},
		"":    {fails: true},
	} {
		var o Opinion
		err := o.read(text)
		if (err != nil) != want.fails || o.Low != want.low {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
}
