package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	clockSkew  = 5 * time.Minute // by which Slack's clock and ours may differ
	pageLength = 200             // messages of one page; Slack allows 999 and recommends no more than 200
	mostPages  = 20
	mostAnswer = 32 << 20 // bytes of one page
)

// listing is one page of conversations.history or conversations.replies.
type listing struct {
	OK       bool              `json:"ok"`
	Error    string            `json:"error"`
	Needed   string            `json:"needed"`
	Messages []json.RawMessage `json:"messages"` // decoded one by one: a strange one must not hide the others
	More     bool              `json:"has_more"`
	Metadata struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// Find looks for a message that Send may have posted, by the key in its metadata. A thread whose root has vanished is
// looked for at the top level too, where Slack posts it then.
func (a *Adapter) Find(ctx context.Context, at platforms.Address, out platforms.Outgoing, since time.Time) (string, error) {
	oldest := since.Add(-clockSkew)
	found := ""
	look := func(raw json.RawMessage) bool {
		var m struct {
			TS       string `json:"ts"`
			Metadata struct {
				Type    string `json:"event_type"`
				Payload struct {
					Key string `json:"key"`
				} `json:"event_payload"`
			} `json:"metadata"`
		}
		if json.Unmarshal(raw, &m) == nil && m.Metadata.Type == deliveryEvent && m.Metadata.Payload.Key == out.Key {
			found = m.TS
		}
		return found == ""
	}
	var err error
	if at.Thread != "" {
		err = a.each(ctx, "conversations.replies", at, oldest, look)
	}
	if found == "" && (err == nil || codeIs(err, "thread_not_found")) {
		err = a.each(ctx, "conversations.history", at, oldest, look)
	}
	return found, err
}

// each shows every message of a conversation, or of the thread that the address names, since a time, until the function
// returns false. Their order is the method's. An error says that they were not all shown.
func (a *Adapter) each(ctx context.Context, method string, at platforms.Address, since time.Time, show func(json.RawMessage) bool) error {
	values := url.Values{
		"channel": {at.Chat}, "oldest": {stampOf(since)}, "limit": {strconv.Itoa(pageLength)}, "include_all_metadata": {"true"},
		"inclusive": {"true"},
	}
	if method == "conversations.replies" {
		values.Set("ts", at.Thread)
	}
	for range mostPages {
		var page listing
		op := operation{method: method, priority: platforms.PriorityLookup, repeat: true}
		if err := a.call(ctx, op, func(ctx context.Context) error { return a.list(ctx, method, values, &page) }); err != nil {
			return err
		}
		for _, raw := range page.Messages {
			if !show(raw) {
				return nil
			}
		}
		if !page.More || page.Metadata.Cursor == "" {
			return nil
		}
		values.Set("cursor", page.Metadata.Cursor)
	}
	return &platforms.Error{Class: platforms.Invalid, Op: "slack " + method, Err: errors.New("too many messages to look through")}
}

// list asks for one page. The library would decode the messages itself and refuse a whole page for one field of a new
// shape.
func (a *Adapter) list(ctx context.Context, method string, values url.Values, page *listing) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.APIURL+method, strings.NewReader(values.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+a.cfg.BotToken)
	answer, err := a.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusTooManyRequests {
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			return slack.StatusCodeError{Code: answer.StatusCode, Status: answer.Status}
		}
		return &slack.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second}
	}
	if answer.StatusCode != http.StatusOK {
		return slack.StatusCodeError{Code: answer.StatusCode, Status: answer.Status}
	}
	*page = listing{}
	if err := json.NewDecoder(http.MaxBytesReader(nil, answer.Body, mostAnswer)).Decode(page); err != nil {
		return err
	}
	if !page.OK {
		return slack.SlackErrorResponse{Err: page.Error, Needed: page.Needed}
	}
	return nil
}

// stampOf writes a time as a ts.
func stampOf(t time.Time) string {
	micros := max(t.UnixMicro(), 0)
	return strconv.FormatInt(micros/1e6, 10) + "." + strconv.FormatInt(micros%1e6+1e6, 10)[1:]
}

// Connections returns how often the adapter has connected after a silence that is longer than Slack repeats events for.
func (a *Adapter) Connections() int { return int(a.fresh.Load()) }

// History returns what people wrote in a conversation outside its threads, or in one thread.
func (a *Adapter) History(ctx context.Context, at platforms.Address, since time.Time) ([]*platforms.Message, error) {
	method := "conversations.history"
	if at.Thread != "" {
		method = "conversations.replies"
	}
	d := a.who.Load()
	if d == nil {
		return nil, &platforms.Error{Class: platforms.Transient, Op: "slack " + method, Err: errors.New("not connected yet")}
	}
	var list []*platforms.Message
	err := a.each(ctx, method, at, since, func(raw json.RawMessage) bool {
		var e event
		if json.Unmarshal(raw, &e) != nil || e.TS == "" {
			return true
		}
		e.Channel = at.Chat
		switch e.Subtype {
		case "", "file_share", "thread_broadcast":
			// The root of a thread comes with it, however old it is.
			if m := d.message(e); m != nil && !m.At.Before(since) {
				list = append(list, m)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b *platforms.Message) int { return a.At.Compare(b.At) })
	for _, m := range list {
		a.names.fill(ctx, &m.Origin)
	}
	return list, nil
}
