package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/talaria-agent/talaria/gateway/audit"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// auditRequest asks for a part of the audit log. What is empty does not matter.
type auditRequest struct {
	Since  time.Time `json:"since,omitzero"`
	Person string    `json:"person,omitempty"` // platform:id
	Chat   string    `json:"chat,omitempty"`   // a part of the conversation's key
}

func (r auditRequest) wants(l audit.Line) bool {
	return !l.At.Before(r.Since) && (r.Person == "" || r.Person == l.Person || r.Person == l.By) &&
		strings.Contains(string(l.Conversation), r.Chat)
}

// verifyRequest names the last line of the ledger that was noted before, empty if none was.
type verifyRequest struct {
	Head string `json:"head,omitempty"`
}

// auditor is a store that keeps a ledger.
type auditor interface {
	Audit(ctx context.Context, known string) (bolt.Audit, error)
}

var errNoLedger = errors.New("this store keeps no ledger; only the one in a file does")

// auditLog is the operation: one JSON object a line, the oldest first, without secrets.
func (i instance) auditLog(ctx context.Context, in auditRequest, out io.Writer) error {
	var all []audit.Line
	for key, err := range i.store.Keys(ctx) {
		if err != nil {
			return err
		}
		if !strings.Contains(string(key), in.Chat) {
			continue
		}
		reader := audit.NewReader(key)
		for rec, err := range i.store.History(ctx, key, 0) {
			if err != nil {
				return err
			}
			all = append(all, reader.Read(rec)...)
		}
		all = append(all, reader.Rest()...)
	}
	if l, ok := i.store.(auditor); ok {
		a, err := l.Audit(ctx, "")
		if err != nil {
			return err
		}
		for _, r := range a.Removals {
			all = append(all, audit.Line{
				At: r.At, What: audit.Removed, Conversation: r.Key, Note: fmt.Sprintf("%s, %d records", r.Removed, r.Records),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b audit.Line) int { return a.At.Compare(b.At) })
	redact := newRedactor(i.config().secrets()...)
	lines := json.NewEncoder(out)
	for _, l := range all {
		if !in.wants(l) {
			continue
		}
		l.Preview, l.Note, l.Judged = redact.text(l.Preview), redact.text(l.Note), redact.text(l.Judged)
		if err := lines.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// verifyAudit is the operation.
func (i instance) verifyAudit(ctx context.Context, in verifyRequest, out io.Writer) error {
	l, ok := i.store.(auditor)
	if !ok {
		return errNoLedger
	}
	a, err := l.Audit(ctx, in.Head)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

func auditCommand(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && args[0] == "verify" {
		return verifyCommand(ctx, args[1:], stdout, stderr)
	}
	f := flags("audit", stderr)
	config := dataFlags(f)
	since := f.String("since", "", "only what happened since then: a date, a time, or a span like 24h")
	person := f.String("person", "", "only what this person did or decided, like telegram:123456")
	chat := f.String("chat", "", "only conversations whose key contains this; talaria sessions list shows the keys")
	export := f.String("export", "", "write it to this new file, as JSON lines")
	if _, err := parse(f, args); err != nil {
		return err
	}
	cfg, err := config()
	if err != nil {
		return err
	}
	request := auditRequest{Person: *person, Chat: *chat}
	if request.Since, err = moment(*since); err != nil {
		return err
	}
	if *export != "" {
		file, err := os.OpenFile(*export, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		return errors.Join(operate(ctx, cfg, "audit", request, file), file.Close())
	}
	var out bytes.Buffer
	if err := operate(ctx, cfg, "audit", request, &out); err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tPERSON\tCONVERSATION\tWHAT\tPERMISSION\tOUTCOME\tDETAILS")
	for d := json.NewDecoder(&out); ; {
		var l audit.Line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return table.Flush()
		} else if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.At.Local().Format(timeLayout), cmp.Or(l.Person, "-"), l.Conversation,
			strings.TrimSpace(l.What+" "+l.Tool), permissionOf(l), cmp.Or(l.Outcome, "-"), cmp.Or(l.Preview, l.Note))
	}
}

// permissionOf says who allowed a call, for a table.
func permissionOf(l audit.Line) string {
	switch {
	case l.What == audit.Granted:
		return l.Extent + " by " + l.By
	case !l.Asked:
		return "-"
	case l.Allowed:
		return l.Extent + " by " + l.By
	case l.By != "":
		return "denied by " + l.By
	}
	return "denied"
}

// moment reads a point in time, or how long ago it was.
func moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, timeLayout, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-01-31, \"2026-01-31 15:04:05\", or 24h for the last day", text)
}

// verifyCommand says whether anybody has changed the logs.
func verifyCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("audit verify", stderr)
	config := dataFlags(f)
	head := f.String("head", "", "the hash that an earlier verification gave; it must still be in the ledger")
	if _, err := parse(f, args); err != nil {
		return err
	}
	cfg, err := config()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := operate(ctx, cfg, "audit.verify", verifyRequest{*head}, &out); err != nil {
		return err
	}
	var a bolt.Audit
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	for _, finding := range a.Findings {
		fmt.Fprintln(stdout, finding)
	}
	if len(a.Findings) > 0 {
		return exit{1, errors.New("somebody or something has changed the log of what happened")}
	}
	fmt.Fprintf(stdout, "Nothing was changed: %d lines, the last one is\n%s\nKeep it elsewhere: talaria audit verify -head HASH shows that nothing before it was rewritten.\n", a.Lines, a.Head)
	return nil
}
