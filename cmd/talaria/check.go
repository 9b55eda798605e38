package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/cmd/talaria/control"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/telegram"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

const (
	rivalFor = 10 * time.Second // how long is listened for another program, where only that shows it
	probeFor = time.Minute      // what one probe of the model may take
	clockOff = 30 * time.Second // from which on a clock counts as wrong
)

// checkup collects what a check finds, each in one line: a name and what there is to say.
type checkup struct {
	out io.Writer
	bad bool
}

func (r *checkup) line(name, format string, args ...any) {
	fmt.Fprintf(r.out, "%-9s %s\n", name, fmt.Sprintf(format, args...))
}

// problem says what is wrong and what to do about it. Only a minor one leaves the check a success.
func (r *checkup) problem(name string, p platforms.Problem) {
	r.bad = r.bad || !p.Minor
	mark := "PROBLEM: "
	if p.Minor {
		mark = "note: "
	}
	cure := ""
	if p.Cure != "" {
		cure = ". Cure: " + p.Cure
	}
	r.line(name, "%s%s%s", mark, p.What, cure)
}

// check reads the config, says what it found, asks each platform about the bot, and tries what else there is: the model, the
// sandbox, the database, the clock.
func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("check", stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	listen := f.Duration("listen", rivalFor, "how long to listen for another program that takes Telegram's messages, 0s = not at all")
	probe := f.Bool("probe", true, "let the model call tools: four short calls")
	if _, err := parse(f, args); err != nil {
		return err
	}
	found := findConfig(*path)
	cfg, warnings, err := loadConfig(found, os.Getenv)
	if err != nil {
		return err
	}
	r := &checkup{out: stdout}
	if found == "" {
		r.line("config", "no config.toml here; using the environment and the defaults (talaria setup writes one)")
	} else {
		r.line("config", "%s is fine", found)
	}
	for _, w := range warnings {
		r.line("warning", "%s", w)
	}
	r.modes(&cfg)
	adapters, err := wireAdapters(cfg.Platforms, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if running(&cfg) {
		*listen = 0 // the instance is the one that polls
		r.line("instance", "one is running; it is not disturbed")
	}
	redact := newRedactor(cfg.secrets()...)
	asked, probed := make(chan []answered, 1), make(chan []loop.Probed, 1)
	go func() { asked <- ask(ctx, adapters, *listen) }()
	go func() { probed <- probeModel(ctx, &cfg, *probe) }()
	r.sandbox(&cfg)
	r.skills(&cfg)
	r.database(&cfg)
	r.web(ctx, &cfg)
	r.ops(ctx, &cfg)
	r.mcp(ctx, &cfg, redact)
	r.clock(ctx, &cfg)
	r.platforms(<-asked, redact)
	r.model(&cfg, <-probed, redact)
	access := cfg.access()
	for _, a := range adapters {
		r.line("access", "%s: users %d, chats %d, admins %d", a.Name(), len(access.Users[a.Name()]), len(access.Chats[a.Name()]), len(access.Admins[a.Name()]))
	}
	if r.bad {
		return exit{code: 1}
	}
	return nil
}

// running tells whether an instance works on the data folder.
func running(cfg *Config) bool {
	_, err := control.Find(cfg.state())
	return !errors.Is(err, control.ErrNoInstance)
}

// modes looks for files with secrets that others can read.
func (r *checkup) modes(cfg *Config) {
	files := []string{cfg.EnvFile}
	for _, s := range cfg.secretFields() {
		files = append(files, s.file)
	}
	if cfg.File != "" {
		if text, err := os.ReadFile(cfg.File); err == nil && newRedactor(cfg.secrets()...).holds(string(text)) {
			files = append(files, cfg.File)
		}
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if file == "" || err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		r.problem("secrets", platforms.Problem{
			What: fmt.Sprintf("other users of this machine can read %s (mode %04o), and there are secrets in it", file, info.Mode().Perm()), Cure: "chmod 600 " + file,
		})
	}
}

// answered is what a platform said, or that it does not work.
type answered struct {
	name    platforms.Name
	checked platforms.Checked
	err     error
}

// ask asks all platforms at once.
func ask(ctx context.Context, adapters []platforms.Adapter, listen time.Duration) []answered {
	all := make([]answered, len(adapters))
	var asking sync.WaitGroup
	for i, a := range adapters {
		all[i].name = a.Name()
		if c, ok := a.(platforms.Checker); ok {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, checkFor+listen)
				defer cancel()
				all[i].checked, all[i].err = c.Check(ctx, listen)
			})
		}
	}
	asking.Wait()
	return all
}

func (r *checkup) platforms(all []answered, redact redactor) {
	for _, a := range all {
		name := string(a.name)
		if a.err != nil {
			r.bad = true
			r.line(name, "NOT working: %s%s", redact.text(oneLine(a.err)), advice(a.name, a.err))
			continue
		}
		r.line(name, "%s", a.checked.Who)
		for _, p := range a.checked.Problems {
			r.problem(name, p)
		}
	}
}

// advice says what to look at when a platform does not work; a fatal error says so itself.
func advice(name platforms.Name, err error) string {
	if platforms.ClassOf(err) == platforms.Transient {
		return fmt.Sprintf(". Is there a network, and is platforms.%s.api_url right if it is set?", name)
	}
	return ""
}

// probeModel lets the main model call tools.
func probeModel(ctx context.Context, cfg *Config, wanted bool) []loop.Probed {
	if !wanted || cfg.Model.Name == "" {
		return nil
	}
	links, err := wireLinks(cfg, "model", []EndpointConfig{cfg.Model.endpoint()}, cfg.Model.Reasoning)
	if err != nil {
		return []loop.Probed{{What: "is set up", Err: err}}
	}
	return loop.Probe(ctx, links[0].Model, probeFor)
}

func (r *checkup) model(cfg *Config, probed []loop.Probed, redact redactor) {
	if cfg.Model.Name == "" {
		r.problem("model", platforms.Problem{What: "none is named", Cure: "set model.name in config.toml, or TALARIA_MODEL; talaria setup lists what your provider has"})
		return
	}
	r.line("model", "%s at %s", cfg.Model.Name, withoutPassword(cfg.Model.BaseURL))
	for _, p := range probed {
		if p.Err == nil {
			r.line("model", "%s (%.1f s)", p.What, p.Took.Seconds())
			continue
		}
		r.problem("model", platforms.Problem{
			What: fmt.Sprintf("not so: %s: %s", p.What, redact.text(oneLine(p.Err))), Cure: cmp.Or(p.Cure, modelCure(p.Err)), Minor: p.Minor,
		})
	}
	describeAuxiliary(cfg.Auxiliary, r.out)
}

// modelCure says what to do about a model that could not be called.
func modelCure(err error) string {
	var failed *loop.ModelError
	if !errors.As(err, &failed) {
		return "try again later, or look at the provider's status page"
	}
	switch failed.Class {
	case loop.ModelAuth:
		return "put the right key into model.api_key, and see that it is one for model.base_url"
	case loop.ModelQuota:
		return "buy credit at the provider, or name a fallback in [[fallbacks]]"
	case loop.ModelNetwork:
		return "look whether model.base_url is right, and whether this machine reaches it"
	case loop.ModelRateLimited, loop.ModelOverloaded:
		return "try again in a few minutes"
	case loop.ModelBadRequest:
		return "look whether model.name and model.api are right: talaria setup lists what the provider has"
	}
	return "look at the provider's documentation of the model"
}

// describeAuxiliary says which tasks have models of their own.
func describeAuxiliary(a AuxiliaryConfig, stdout io.Writer) {
	for _, task := range []struct {
		name string
		own  []EndpointConfig
	}{{"summaries", a.Compression}, {"vision", a.Vision}, {"web", a.Web}, {"approval", a.Approval}} {
		if len(task.own) == 0 {
			continue
		}
		fmt.Fprintf(stdout, "%-9s ", task.name)
		for _, e := range task.own {
			fmt.Fprintf(stdout, "%s, ", e.Name)
		}
		fmt.Fprintln(stdout, "then the main model")
	}
}

func (r *checkup) sandbox(cfg *Config) {
	line, contained := describeSandbox(cfg)
	r.line("sandbox", "%s", line)
	r.bad = r.bad || !contained
}

// database reads all of the database, if there is one that nobody uses.
func (r *checkup) database(cfg *Config) {
	if _, err := os.Stat(cfg.database()); err != nil {
		r.line("database", "none yet")
		return
	}
	switch err := bolt.Check(cfg.database()); {
	case errors.Is(err, sessions.ErrInUse):
		r.line("database", "not read, because an instance is using it")
	case err != nil:
		r.problem("database", platforms.Problem{
			What: "NOT usable: " + oneLine(err), Cure: "restore a backup, or save what can be saved: talaria sessions repair",
		})
	default:
		r.line("database", "read whole, nothing is damaged")
	}
}

// web looks whether the search engine can be reached, where it is one's own.
func (r *checkup) web(ctx context.Context, cfg *Config) {
	if cfg.Web.Engine == "" || cfg.Web.URL == "" {
		return
	}
	r.reaches(ctx, "web", cfg.Web.URL, "look whether web.url is right and the search engine runs")
}

// ops looks whether what the ops tools are to look at is there.
func (r *checkup) ops(ctx context.Context, cfg *Config) {
	o := &cfg.Ops
	if len(o.Units) > 0 {
		if _, err := exec.LookPath("journalctl"); err != nil {
			r.problem("ops", platforms.Problem{What: "there is no journalctl, so the journal of " + strings.Join(o.Units, ", ") + " cannot be read", Cure: "install it, or empty ops.units", Minor: true})
		}
	}
	for _, folder := range o.Documents {
		if _, err := os.ReadDir(folder); err != nil {
			r.problem("ops", platforms.Problem{What: fmt.Sprintf("the documents in %s cannot be read (%s)", folder, oneFile(err)), Cure: "correct ops.documents, or let this user read the folder", Minor: true})
		}
	}
	if o.Prometheus != "" {
		r.reaches(ctx, "ops", o.Prometheus, "look whether ops.prometheus is right and Prometheus runs")
	}
}

// reaches looks whether anything answers at an address.
func (r *checkup) reaches(ctx context.Context, name, address, cure string) {
	if _, err := serverTime(ctx, address); err != nil && !errors.Is(err, errNoTime) {
		r.problem(name, platforms.Problem{What: fmt.Sprintf("%s does not answer (%s)", withoutPassword(address), withoutPassword(oneLine(err))), Cure: cure, Minor: true})
	}
}

// clock compares this machine's clock with that of the first platform that tells it.
func (r *checkup) clock(ctx context.Context, cfg *Config) {
	p := &cfg.Platforms
	for _, server := range []struct{ token, own, usual string }{
		{p.Telegram.Token, p.Telegram.APIURL, telegram.DefaultURL},
		{p.Slack.BotToken, p.Slack.APIURL, "https://slack.com/api/"},
		{p.Discord.Token, p.Discord.APIURL, "https://discord.com"},
	} {
		if server.token == "" {
			continue
		}
		at, err := serverTime(ctx, cmp.Or(server.own, server.usual))
		if err != nil {
			continue // that it is not reached is said elsewhere
		}
		if off := time.Since(at); off.Abs() > clockOff {
			r.problem("clock", platforms.Problem{
				What: fmt.Sprintf("this machine's clock is wrong by %s, so messages look older or newer than they are", off.Abs().Round(time.Second)),
				Cure: "switch on time synchronisation (timedatectl set-ntp true)",
			})
			return
		}
		r.line("clock", "right")
		return
	}
}

var errNoTime = errors.New("it does not tell the time")

// serverTime asks a server, without telling it anything, what time it is.
func serverTime(ctx context.Context, address string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return time.Time{}, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return time.Time{}, err
	}
	_ = resp.Body.Close()
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}, errNoTime
	}
	return at, nil
}

// oneFile says in one line what is wrong with a file.
func oneFile(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return oneLine(err)
}
