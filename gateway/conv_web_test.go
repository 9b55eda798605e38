package gateway_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/web"
)

// webTools makes web_extract over a web that has one page everywhere: the "page" section of a script.
func webTools(t *testing.T, page string) []tools.Tool {
	t.Helper()
	network := memnet.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, page)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(network)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	set, err := web.New(web.Options{Dial: network.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return set
}
