package main

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/ops"
)

// OpsConfig says what the ops tools may look at.
type OpsConfig struct {
	Logs                []string `toml:"logs"`
	Units               []string `toml:"units"`
	Prometheus          string   `toml:"prometheus"`
	PrometheusToken     string   `toml:"prometheus_token"`
	PrometheusTokenFile string   `toml:"prometheus_token_file"`
	Documents           []string `toml:"documents"`
}

// some tells whether there is anything to look at.
func (c *OpsConfig) some() bool {
	return len(c.Logs)+len(c.Units)+len(c.Documents) > 0 || c.Prometheus != ""
}

func validateOps(c *checker, o *OpsConfig) {
	if err := ops.CheckLogs(o.Logs); err != nil {
		c.add("ops.logs", "%v", err)
	}
	if err := ops.CheckUnits(o.Units); err != nil {
		c.add("ops.units", "%v", err)
	}
	c.url("ops.prometheus", o.Prometheus, "http", "https")
	if o.Prometheus == "" && o.PrometheusToken != "" {
		c.add("ops.prometheus", "there is a token for it, but no address")
	}
	for _, folder := range o.Documents {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) == "/" {
			c.add("ops.documents", "%q is not the absolute path of a folder", folder)
		}
	}
}

// ops makes the tools that look after systems, as far as there is something to look at.
func (k *kit) ops() ([]tools.Tool, error) {
	o := &k.cfg.Ops
	if !o.some() {
		k.lacks("ops", "nothing is set in [ops]")
		return nil, nil
	}
	secrets, err := files.NewSecrets(k.cfg.Tools.SecretFiles)
	if err != nil {
		return nil, err
	}
	options := ops.Options{
		Logs: o.Logs, Units: o.Units, Prometheus: o.Prometheus, Token: o.PrometheusToken, Documents: o.Documents, Secret: secrets.Match,
	}
	if len(o.Units) > 0 {
		if options.Journalctl, err = exec.LookPath("journalctl"); err != nil {
			k.lacks("ops", "the journal of "+strings.Join(o.Units, ", ")+" cannot be read: there is no journalctl")
		}
	}
	return ops.New(options)
}
