package gateway

import (
	"flag"
	"os"
	"testing"

	_ "pgregory.net/rapid" // has the flag
)

// TestMain gives every run the same random cases, so that a change is judged by itself. -rapid.seed and -rapid.checks
// look further.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
