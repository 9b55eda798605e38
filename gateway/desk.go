package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway/chattools"
	"github.com/talaria-agent/talaria/gateway/schedule"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// This file is chattools.Desk: what the tools that need the gateway ask for, in the name of whoever a turn is for.

const jobTools = chattools.Jobs

// errNoTurn is what a call gets whose turn does not run any more.
var errNoTurn = errors.New("the turn of this call is over")

// behalf returns the turn that a call belongs to, and for whom it is where.
func (g *Gateway) behalf(scope tools.Scope) (*turn, platforms.Origin, error) {
	t := g.turns.get(cmp.Or(scope.Parent, scope.Turn))
	if t == nil {
		return nil, platforms.Origin{}, errNoTurn
	}
	return t, t.inputs[0].origin(), nil
}

// Chats implements chattools.Desk.
func (g *Gateway) Chats(ctx context.Context, scope tools.Scope) ([]string, error) {
	_, from, err := g.behalf(scope)
	if err != nil {
		return nil, err
	}
	return g.reachable(ctx, from)
}

// Message implements chattools.Desk.
func (g *Gateway) Message(ctx context.Context, scope tools.Scope, chat, text string) (m sessions.MessageSent, name, problem string, err error) {
	_, from, err := g.behalf(scope)
	if err != nil {
		return m, "", "", err
	}
	to, problem, err := g.reach(ctx, from, chat)
	if err != nil || problem != "" {
		return m, "", problem, err
	}
	a := to.Address
	if len(g.adapters[a.Platform].Split(text)) == 0 {
		return m, "", "There is nothing in the message.", nil
	}
	return sessions.MessageSent{
		Turn: scope.Turn, Call: scope.CallID, Platform: string(a.Platform), Account: a.Account, Chat: a.Chat, Thread: a.Thread, Text: text,
	}, placeOf(a), "", nil
}

// sent returns the outputs that entries of the turn stand for. The id of each is made of the turn, the call, and how long
// the history was: some models use the id of a call again.
func (t *turn) sent(entries []sessions.Entry) (outs []output) {
	for _, e := range entries {
		m, ok := e.(sessions.MessageSent)
		if !ok {
			continue
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", m.Call, len(t.log.snapshot().Messages)))
		outs = append(outs, output{
			id:     sessions.RowID("send-" + t.id + "-" + hex.EncodeToString(sum[:8])),
			To:     platforms.Address{Platform: platforms.Name(m.Platform), Account: m.Account, Chat: m.Chat, Thread: m.Thread},
			Pieces: t.c.g.adapters[platforms.Name(m.Platform)].Split(m.Text), Task: t.id,
		})
	}
	return outs
}

// AddJob implements chattools.Desk.
func (g *Gateway) AddJob(ctx context.Context, scope tools.Scope, want chattools.Job) (done, problem string, err error) {
	t, from, err := g.behalf(scope)
	if err != nil {
		return "", "", err
	}
	if t.isJob() {
		return "", ownJobs, nil
	}
	return g.addJob(ctx, from, t.log.snapshot().Setting(zoneSetting), want, fmt.Sprintf("call %s %s %d", scope.Turn, scope.CallID, len(t.log.snapshot().Messages)))
}

// ownJobs is what a job reads that wants to make or change jobs.
const ownJobs = "A job cannot make or change jobs. Say in the answer what should be changed."

func (t *turn) isJob() bool {
	e := t.errand()
	return e != nil && e.Kind == jobKind
}

// ListJobs implements chattools.Desk.
func (g *Gateway) ListJobs(_ context.Context, scope tools.Scope) (string, error) {
	_, from, err := g.behalf(scope)
	if err != nil {
		return "", err
	}
	return g.describeJobs(from), nil
}

// ChangeJob implements chattools.Desk.
func (g *Gateway) ChangeJob(ctx context.Context, scope tools.Scope, change string, number int) (done, problem string, err error) {
	t, from, err := g.behalf(scope)
	if err != nil {
		return "", "", err
	}
	if t.isJob() {
		return "", ownJobs, nil
	}
	done, problem, wake, err := g.changeJob(ctx, from, change, number, fmt.Sprintf("%s-%s", scope.Turn, scope.CallID))
	if wake != nil {
		wake()
	}
	return done, problem, err
}

// addJob makes a job for somebody, once for each cause.
func (g *Gateway) addJob(ctx context.Context, from platforms.Origin, zone string, want chattools.Job, cause string) (done, problem string, err error) {
	mine := g.plans.of(func(job *plan) bool { return job.person() == personOf(from) })
	if i := slices.IndexFunc(mine, func(job plan) bool { return job.Cause == cause }); i >= 0 {
		return "I have made it: " + mine[i].String(), "", nil
	}
	if most := g.now().Jobs.PerPerson; len(mine) >= most {
		return "", fmt.Sprintf("Nobody can have more than %d jobs here. Remove one first.", most), nil
	}
	loc, problem := g.zone(cmp.Or(want.Zone, zone))
	if problem != "" {
		return "", problem, nil
	}
	now := time.Now()
	when, err := schedule.Parse(want.Schedule, loc, now)
	if err != nil {
		return "", fmt.Sprintf("I do not understand when: %v. Write `0 9 * * 1-5`, `every 2h`, `in 30m` or `2026-01-31 09:00`.", err), nil
	}
	job := plan{
		Title: headline(cmp.Or(strings.TrimSpace(want.Name), want.Prompt)), Prompt: want.Prompt, When: when, Origin: from,
		Toolsets: want.Toolsets, MaxTurns: want.MaxTurns, Made: now, Last: now, Cause: cause,
	}
	if unknown := g.unknownToolset(want.Toolsets); unknown != "" {
		return "", fmt.Sprintf("There is no toolset %q.", unknown), nil
	}
	to, problem, err := g.reach(ctx, from, want.Chat)
	if err != nil || problem != "" {
		return "", problem, err
	}
	if to.Address != from.Address {
		job.To = &to
	}
	if job, err = g.plans.add(ctx, job); err != nil {
		return "", "", err
	}
	g.log.Info("a job was made", "job", job.Number, "person", job.person())
	next, _ := job.next()
	return fmt.Sprintf("I have made it: %s. It runs first at %s.", strings.TrimSuffix(job.String(), " · next "+when.Show(next)), when.Show(next)), "", nil
}

// zone returns the time zone of a name, or the usual one.
func (g *Gateway) zone(name string) (loc *time.Location, problem string) {
	name = cmp.Or(name, g.now().Jobs.Zone)
	if name == "" {
		return time.Local, ""
	}
	loc, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, fmt.Sprintf("I do not know the time zone %q. Write it as in Europe/Berlin.", name)
	}
	return loc, ""
}

// unknownToolset returns the first name of a list that is no toolset here.
func (g *Gateway) unknownToolset(names []string) string {
	sets := toolsets(g.Tools().Tools())
	for _, name := range names {
		if !slices.ContainsFunc(sets, func(s toolNames) bool { return s.name == name }) {
			return name
		}
	}
	return ""
}

// personOf names who is meant, over all platforms.
func personOf(o platforms.Origin) string { return string(o.Address.Platform) + ":" + o.Sender.ID }

// shownJobs returns the jobs that somebody gets to see where he is: in private all of his own; elsewhere his own of that
// chat, and everybody's of it if he is an admin or shares the conversation.
func (g *Gateway) shownJobs(from platforms.Origin) []plan {
	all := shared(from.Kind) || g.now().Access.Admin(from.Address.Platform, from.Sender.ID)
	return g.plans.of(func(job *plan) bool {
		here := chatOf(job.Origin.Address) == chatOf(from.Address)
		if job.person() == personOf(from) {
			return here || from.Kind == platforms.Direct
		}
		return here && all
	})
}

func (g *Gateway) describeJobs(from platforms.Origin) string {
	var b strings.Builder
	for _, job := range g.shownJobs(from) {
		fmt.Fprintf(&b, "- %s\n", job.String())
	}
	if b.Len() == 0 {
		return "There are no jobs here."
	}
	return b.String()
}

// changeJob changes a job for somebody who may: whoever made it, or an admin. If there is something to begin, wake does it.
func (g *Gateway) changeJob(ctx context.Context, from platforms.Origin, change string, number int, cause string) (done, problem string, wake func(), err error) {
	may := g.plans.of(func(job *plan) bool {
		return job.Number == number && job.Origin.Address.Platform == from.Address.Platform && g.mayAnswer(job.Origin.Sender.ID, from)
	})
	if len(may) == 0 {
		return "", fmt.Sprintf("There is no job %d that you may change.", number), nil, nil
	}
	job := may[0]
	switch change {
	case chattools.Remove:
		if err := g.plans.remove(ctx, number); err != nil {
			return "", "", nil, err
		}
		return fmt.Sprintf("Job %d · %s is removed.", number, job.Title), "", nil, nil
	case chattools.Pause:
		if _, err := g.plans.pause(ctx, number, "by "+who(from.Sender)); err != nil {
			return "", "", nil, err
		}
		return fmt.Sprintf("Job %d · %s is paused.", number, job.Title), "", nil, nil
	case chattools.Resume:
		now := time.Now()
		resumed, err := g.plans.change(ctx, number, func(p *plan) {
			if p.Paused != "" {
				p.Paused, p.Last = "", now
			}
		})
		if err != nil || resumed == nil {
			return "", fmt.Sprintf("There is no job %d any more.", number), nil, err
		}
		return "It runs again: " + resumed.String(), "", nil, nil
	case chattools.Run:
		wake, err := g.start(ctx, &job, job.errand(), fmt.Sprintf("job/%d/%s", number, cause))
		if err != nil {
			return "", "", nil, err
		}
		return fmt.Sprintf("Job %d · %s runs now. Its answer comes in a message of its own.", number, job.Title), "", wake, nil
	}
	return "", fmt.Sprintf("%q cannot be done to a job.", change), nil, nil
}
