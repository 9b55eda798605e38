package mcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/talaria-agent/talaria/tools"
)

// TestMain lets this binary be a server, and a program that such a one leaves behind.
func TestMain(m *testing.M) {
	switch os.Getenv("MCP_TEST_ROLE") {
	case "server":
		serve()
	case "left":
		linger()
	default:
		os.Exit(m.Run())
	}
}

// serve is a server that tells its environment, and has started a program that would go on for ever.
func serve() {
	fmt.Fprintln(os.Stderr, "ready")
	left := exec.Command(os.Args[0])
	left.Env = append(os.Environ(), "MCP_TEST_ROLE=left")
	if err := left.Start(); err != nil {
		panic(err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "child", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "environment"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		folder, _ := os.Getwd()
		return says(folder + " " + strings.Join(os.Environ(), " ")), nil, nil
	})
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
}

// linger holds a connection open until it is killed.
func linger() {
	conn, err := net.Dial("unix", os.Getenv("MCP_TEST_SOCKET"))
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, conn)
	select {}
}

// TestProgram: a program gets a small environment, and is gone with all that it started when the client ends.
func TestProgram(t *testing.T) {
	t.Setenv("SOME_TOKEN", "hunter2")
	folder, err := os.MkdirTemp("", "mcp") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Servers: []Server{{
		Name: "child", Command: []string{self}, Env: []string{"MCP_TEST_ROLE=server", "MCP_TEST_SOCKET=" + socket, "GIVEN=yes"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	if _, err := c.servers[0].ready(ctx); err != nil {
		t.Fatal(err)
	}
	left, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	all, _ := c.Tools()
	result, err := all[0].Call(ctx, tools.Scope{}, []byte("{}"))
	if err != nil || !strings.HasPrefix(result.Text, "/ ") || !strings.Contains(result.Text, "GIVEN=yes") || !strings.Contains(result.Text, "PATH=") {
		t.Errorf("its folder and environment: %+v, %v", result, err)
	}
	if strings.Contains(result.Text, "hunter2") {
		t.Error("the program has the gateway's token")
	}
	stop()
	running.Wait()
	if _, err := io.Copy(io.Discard, left); err != nil { // until it is killed
		t.Log(err)
	}
	if _, err := all[0].Call(t.Context(), tools.Scope{}, []byte("{}")); err == nil {
		t.Error("a call after the end worked")
	}
}

// TestProgramFails: what a program said before it ended is told.
func TestProgramFails(t *testing.T) {
	_, err := Check(t.Context(), Options{Servers: []Server{{Name: "child", Command: []string{"sh", "-c", "echo no key is set >&2"}}}})
	if err == nil || !strings.Contains(err.Error(), "it said: no key is set") {
		t.Errorf("the error is %v", err)
	}
}

// TestHTTP: a server at an address gets the token and the headers, and nobody whom it points to does.
func TestHTTP(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return says("answered"), nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2" || r.Header.Get("X-Org") != "us" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer far.Close()
	var mu sync.Mutex
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	pointing := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer pointing.Close()

	config := Server{Name: "far", URL: far.URL, Token: "hunter2", Headers: []string{"X-Org: us"}}
	c, err := New(Options{Servers: []Server{config}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	if _, err := c.servers[0].ready(ctx); err != nil {
		t.Fatal(err)
	}
	all, _ := c.Tools()
	if result, err := all[0].Call(ctx, tools.Scope{}, []byte("{}")); err != nil || result.Text != "answered" {
		t.Errorf("%+v, %v", result, err)
	}
	stop()
	running.Wait()

	config.Token = "wrong"
	if _, err := Check(t.Context(), Options{Servers: []Server{config}}); err == nil {
		t.Error("a wrong token worked")
	}
	config.Token, config.URL = "hunter2", pointing.URL
	if _, err := Check(t.Context(), Options{Servers: []Server{config}}); err == nil {
		t.Error("a redirect worked")
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(seen, "Bearer hunter2") {
		t.Error("the token went elsewhere")
	}
}
