package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/talaria-agent/talaria/cmd/talaria/labpage"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms/discord"
	simdiscord "github.com/talaria-agent/talaria/platforms/sim/discord"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
	"github.com/talaria-agent/talaria/platforms/slack"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// lab runs the whole product against simulators on loopback: nothing to configure, no account, no network.
func lab(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("lab", stderr)
	listen := f.String("listen", "127.0.0.1:0", "address of the page")
	password := f.String("password", "", "asked for by the page; needed if it listens on more than loopback")
	modelURL := f.String("model-url", "", "OpenAI-compatible API of a real model (with OPENAI_API_KEY); empty = the demonstration model")
	model := f.String("model", "", "name of the real model")
	verbose := f.Bool("v", false, "log everything")
	if _, err := parse(f, args); err != nil {
		return err
	}
	if *modelURL != "" && *model == "" {
		return exit{2, errors.New("--model-url needs --model, the name of a model there")}
	}
	if err := labpage.CheckListen(*listen, *password); err != nil {
		return exit{2, err}
	}
	folder, err := os.MkdirTemp("", "talaria-lab-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	l := &laboratory{stdout: stdout, cfg: labConfig(folder, *modelURL, *model, *verbose)}
	l.redact = newRedactor(l.cfg.secrets()...)
	l.log, _ = newLogger(stderr, l.cfg.Log, l.redact)
	if _, err := findSandbox(&l.cfg); err != nil && *model == "" { // the demonstration model runs only what somebody typed
		l.log.Warn("commands run without a sandbox", "reason", oneLine(err))
		l.cfg.Tools.Sandbox = terminal.Off
	}
	return l.run(ctx, *listen, *password)
}

// labConfig is the config of the lab: everything is on, and the people of the simulators are known.
func labConfig(folder, modelURL, model string, verbose bool) Config {
	cfg := defaultConfig()
	cfg.DataDir = folder
	cfg.Model.Window, cfg.Model.MaxOutput = 32_000, 4_000
	cfg.Tools.Approval = "ask"
	cfg.Gateway.ShutdownGrace = labGrace
	if model != "" {
		cfg.Model.Name, cfg.Model.APIKey, cfg.Model.Window = model, os.Getenv("OPENAI_API_KEY"), defaultWindow
	}
	if modelURL != "" {
		cfg.Model.BaseURL = modelURL
	}
	p := &cfg.Platforms
	p.Telegram.Token = "7000000001:" + rand.Text() + rand.Text()
	p.Slack.BotToken, p.Slack.AppToken, p.Discord.Token = "xoxb-"+rand.Text(), "xapp-"+rand.Text(), rand.Text()
	cfg.Access = labAccess()
	cfg.Log.Level = "warn"
	if verbose {
		cfg.Log.Level = "debug"
	}
	return cfg
}

// laboratory holds what the lab starts.
type laboratory struct {
	cfg    Config
	redact redactor
	log    *slog.Logger
	stdout io.Writer
	group  *errgroup.Group
	ctx    context.Context
}

func (l *laboratory) run(ctx context.Context, listen, password string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.group, l.ctx = errgroup.WithContext(ctx)

	p := l.cfg.Platforms
	workspace := simslack.New(simslack.Config{BotToken: p.Slack.BotToken, AppToken: p.Slack.AppToken})
	stages := labStages{
		telegram: simtelegram.New(simtelegram.Options{Token: p.Telegram.Token, BotID: 7000000001}),
		slack:    workspace,
		discord:  simdiscord.New(simdiscord.Options{Token: p.Discord.Token, Permissions: discord.PermissionBits()}),
	}
	defer stages.close()
	stages.people()
	app, err := json.Marshal(slack.NewManifest("Talaria"))
	if err != nil {
		return err
	}
	if err := workspace.Install(app); err != nil {
		return err
	}
	if err := l.connect(stages); err != nil {
		return err
	}
	store, err := openStore(l.cfg)
	if err != nil {
		return err
	}
	adapters, err := wireAdapters(l.cfg.Platforms, l.log)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	g, err := wireGateway(l.cfg, store, adapters, labFiles, nil, l.redact, l.log)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	if err := l.page(stages, listen, password); err != nil {
		return errors.Join(err, store.Close())
	}
	l.group.Go(func() error {
		return serveControl(l.ctx, instance{config: always(&l.cfg), store: store, gateway: g.Gateway}, l.redact, l.log)
	})
	said := context.AfterFunc(l.ctx, func() { fmt.Fprintln(l.stdout, "Stopping ...") })
	defer said()
	err = g.Run(l.ctx)
	stop()
	return errors.Join(err, l.group.Wait(), store.Close())
}

// connect starts the simulators and the model on loopback and points the config at them.
func (l *laboratory) connect(s labStages) error {
	p := &l.cfg.Platforms
	for _, server := range []struct {
		url     *string
		path    string
		handler http.Handler
	}{
		{&p.Telegram.APIURL, "", s.telegram.Handler()},
		{&p.Slack.APIURL, "/api/", s.slack.Handler()},
		{&p.Discord.APIURL, "", s.discord.Handler()},
	} {
		address, err := l.serve("127.0.0.1:0", anywhere(server.handler))
		if err != nil {
			return err
		}
		*server.url = "http://" + address + server.path
	}
	if l.cfg.Model.Name == "" {
		address, err := l.serve("127.0.0.1:0", anywhere(demo.New(demo.Options{Window: l.cfg.Model.Window})))
		if err != nil {
			return err
		}
		l.cfg.Model.BaseURL, l.cfg.Model.Name = "http://"+address+"/v1", demo.ModelName
	}
	return nil
}

// anywhere is a handler that does not need to know its address.
func anywhere(h http.Handler) func(string) http.Handler {
	return func(string) http.Handler { return h }
}

// serve serves what handler makes for the address until the lab ends, and returns the address.
func (l *laboratory) serve(listen string, handler func(address string) http.Handler) (string, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w", listen, err)
	}
	server := &http.Server{Handler: handler(listener.Addr().String()), ReadHeaderTimeout: 10 * time.Second}
	l.group.Go(func() error {
		stop := context.AfterFunc(l.ctx, func() { _ = server.Close() })
		defer stop()
		if err := server.Serve(listener); l.ctx.Err() == nil {
			return err
		}
		return nil
	})
	return listener.Addr().String(), nil
}

// reachable returns an address that a browser on this machine can open: one that stands for all addresses becomes
// localhost.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// page serves the lab's page and prints its address.
func (l *laboratory) page(s labStages, listen, password string) error {
	token := rand.Text()
	hint := ""
	if l.cfg.Model.Name == demo.ModelName {
		hint = "Type “help” to see what the demonstration model can do."
	}
	address, err := l.serve(listen, func(address string) http.Handler {
		return labpage.New(labpage.Config{
			Listen: address, Token: token, Password: password, Panes: s.panes(), Suggestions: demo.Suggestions(), Hint: hint,
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(l.stdout, "\nTalaria lab: three simulated platforms, the real gateway, the model %q.\n", l.cfg.Model.Name)
	fmt.Fprintf(l.stdout, "Open this page:\n\n  http://%s/?token=%s\n\n", reachable(address), token)
	fmt.Fprintf(l.stdout, "Work happens in %s and is deleted at the end. Ctrl-C stops.\n", l.cfg.DataDir)
	return nil
}
