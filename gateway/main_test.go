package gateway

import (
	"flag"
	"os"
	"testing"

	_ "pgregory.net/rapid" // has the flag
)

// Canary is the secret part of every token in the conversation scripts, and stands in the environment of the process. It
// must come out nowhere.
const Canary = "Canary4Talaria9x7Qp2Vb8Lm3Kd6Rt1Zs5"

// TestMain gives every run the same random cases, so that a change is judged by itself. -rapid.seed and -rapid.checks
// look further.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := os.Setenv("TALARIA_CANARY", Canary); err != nil {
		panic(err)
	}
	if f := flag.Lookup("rapid.seed"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
