package tools

import "testing"

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"read", "read", 0},
		{"raed", "read", 1},
		{"red", "read", 1},
		{"reads", "read", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
	} {
		if got := Distance(test.a, test.b); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := Distance(test.b, test.a); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
