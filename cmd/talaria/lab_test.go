//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var labAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=\w+`)

func TestLab(t *testing.T) {
	t.Parallel()
	p := launch(t, nil, "lab")
	await(t, "the lab prints its address", p.output.Changed, func() bool { return strings.Contains(p.output.String(), "Ctrl-C") })
	address := labAddress.FindString(p.output.String())
	page, err := url.Parse(address)
	if err != nil || address == "" {
		t.Fatalf("the lab prints no address: %s", p.output.String())
	}
	if status, body := get(t, address); status != http.StatusOK || !strings.Contains(body, "Talaria") {
		t.Errorf("the page answers %d: %.200s", status, body)
	}
	for _, other := range []string{"http://" + page.Host + "/", "http://" + page.Host + "/?token=guess"} {
		if status, _ := get(t, other); status != http.StatusForbidden {
			t.Errorf("without the token the page answers %d", status)
		}
	}
	folders, err := filepath.Glob(filepath.Join(p.cmd.Dir, "talaria-lab-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the lab works in the folders %v", folders)
	}
	list := launch(t, nil, "sessions", "list", "--data", folders[0])
	list.mustExit(t, 0, "KEY")
	if _, err := os.Stat(filepath.Join(folders[0], "state", "control.json")); err != nil {
		t.Errorf("the lab cannot be reached: %v", err)
	}
	p.signal(t, os.Interrupt)
	p.mustExit(t, 0)
	if _, err := os.Stat(folders[0]); !os.IsNotExist(err) {
		t.Errorf("the lab's folder is still there: %v", err)
	}
}

// get fetches a page as a browser does, with a jar for what the page puts into it.
func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
