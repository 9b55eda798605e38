package ops

import "testing"

func TestGeneral(t *testing.T) {
	for text, want := range map[string]string{
		"order 4711 took 31.5 ms":                                   "order <n> took <n> ms",
		"from 10.0.0.7:8080 to db2":                                 "from <ip>:<n> to db<n>",
		"id 0b1c2d3e-4f5a-6b7c-8d9e-0f1a2b3c4d5e, commit 05bc6b3f1": "id <id>, commit <hex>",
		"at 0x7fff12 in effacedeadbeef of feedback":                 "at <hex> in effacedeadbeef of feedback",
		"v1.2.3 é9": "v<n> é<n>",
	} {
		if got := general(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
