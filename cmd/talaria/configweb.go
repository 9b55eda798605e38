package main

import (
	"fmt"
	"net/netip"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/web"
)

// WebConfig says what of the web the model can reach, and how it searches.
type WebConfig struct {
	Allow      []string `toml:"allow"`
	Deny       []string `toml:"deny"`
	Private    []string `toml:"private"`
	Ports      []int    `toml:"ports"`
	Engine     string   `toml:"engine"`
	URL        string   `toml:"url"`
	APIKey     string   `toml:"api_key"`
	APIKeyFile string   `toml:"api_key_file"`
}

// web makes the web tools; there is no search without an engine.
func (k *kit) web() ([]tools.Tool, error) {
	w := &k.cfg.Web
	if w.Engine == "" {
		k.missing = append(k.missing, tools.Missing{
			Toolset: "web", Name: "web_search", Reason: "no search engine is configured; web.engine in config.toml names one",
		})
	}
	o := web.Options{
		Allow: w.Allow, Deny: w.Deny, Secret: k.redact.holds, Reader: k.reader, Engine: w.engine(),
	}
	for _, text := range w.Private {
		network, err := parseNetwork(text)
		if err != nil {
			return nil, err
		}
		o.Private = append(o.Private, network)
	}
	for _, port := range w.Ports {
		o.Ports = append(o.Ports, uint16(port))
	}
	return web.New(o)
}

func (w *WebConfig) engine() web.Engine { return web.Engine{Name: w.Engine, URL: w.URL, Key: w.APIKey} }

// parseNetwork reads a network such as 10.1.2.0/24.
func parseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4In6() {
		return network, fmt.Errorf("%q is not a network like 10.1.2.0/24", text)
	}
	return network, nil
}

func validateWeb(c *checker, w *WebConfig) {
	for key, list := range map[string][]string{"web.allow": w.Allow, "web.deny": w.Deny} {
		if err := web.CheckDomains(list); err != nil {
			c.add(key, "%v", err)
		}
	}
	for _, text := range w.Private {
		if _, err := parseNetwork(text); err != nil {
			c.add("web.private", "%v", err)
		}
	}
	for _, port := range w.Ports {
		c.between("web.ports", port, 1, 65535)
	}
	c.url("web.url", w.URL, "http", "https")
	if w.Engine == "" {
		return
	}
	if err := w.engine().Check(); err != nil {
		c.add("web.engine", "%v", err)
	}
}
