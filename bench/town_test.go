package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/telegram"
)

// town is a simulated Telegram behind HTTP, without rate limits, where people write to one bot and read its answers.
type town struct {
	stage    *telegram.Server
	server   *httptest.Server
	answered chan struct{} // holds one for each message of the bot
}

// newTown returns a town of so many people.
func newTown(b *testing.B, people int) *town {
	t := &town{stage: telegram.New(telegram.Options{NoRateLimits: true}), answered: make(chan struct{}, 10*people)}
	for i := range people {
		id := person(i)
		t.stage.AddUser(sim.User{ID: id, Name: "P" + id})
		t.stage.AddChat(sim.Chat{ID: id, Kind: "dm"})
	}
	handler := t.stage.Handler()
	t.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/sendMessage") {
			t.answered <- struct{}{}
		}
	}))
	b.Cleanup(t.server.Close)
	b.Cleanup(t.stage.Close)
	return t
}

// person is the id of the i-th person, and of the direct messages with him.
func person(i int) string { return strconv.Itoa(1001 + i) }

// say has the i-th person write something.
func (t *town) say(b *testing.B, i int, text string) {
	if _, err := t.stage.Say(sim.Say{User: person(i), Chat: person(i), Text: text}); err != nil {
		b.Fatal(err)
	}
}

// ask has the people from..to-1 write at the same time, and waits until each is answered.
func (t *town) ask(b *testing.B, from, to int) {
	for i := from; i < to; i++ {
		t.say(b, i, "What is the state of things?")
	}
	for range to - from {
		receive(b, t.answered, "an answer")
	}
}

// receive waits for something that must come.
func receive[T any](b *testing.B, from <-chan T, what string) (v T) {
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		b.Fatalf("%s did not come", what)
	}
	return v
}

// bot is the least program that answers people: it polls, makes each message durable before it confirms it, shows that it
// types, asks the model with what was said in the chat, and posts the answer. It watches over nothing, repeats nothing and
// forgets all at its end.
type bot struct {
	b      *testing.B
	town   *town
	client client       // to the model
	http   *http.Client // to Telegram
	commit func()       // makes something durable
	steps  [4]int       // how often it does so: before it confirms the message, before the call, behind it, behind the answer
	chats  map[int64]*client
	work   sync.WaitGroup
}

// spread spreads n commits over a message's way; the first one is the message's own.
func spread(n int) (steps [4]int) {
	for i := range n {
		steps[i%len(steps)]++
	}
	return steps
}

// start begins to poll; the returned function ends it.
func (t *bot) start(answer func(ctx context.Context, chat int64, text string)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var polling sync.WaitGroup
	polling.Go(func() {
		for offset := int64(0); ctx.Err() == nil; {
			var updates []struct {
				ID      int64 `json:"update_id"`
				Message struct {
					Text string
					Chat struct{ ID int64 }
				}
			}
			err := t.call(ctx, "getUpdates", url.Values{"offset": {strconv.FormatInt(offset, 10)}, "timeout": {"50"}}, &updates)
			if err != nil && ctx.Err() == nil {
				t.b.Error(err)
				return
			}
			for _, u := range updates {
				answer(ctx, u.Message.Chat.ID, u.Message.Text)
				offset = u.ID + 1
			}
		}
	})
	return func() {
		cancel()
		polling.Wait()
		t.work.Wait()
	}
}

// durable makes the commits of a step.
func (t *bot) durable(step int) {
	for range t.steps[step] {
		t.commit()
	}
}

// answer is what the bot does about a message. Those of one chat never come at once here.
func (t *bot) answer(_ context.Context, chat int64, text string) {
	t.durable(0)
	c := t.chats[chat]
	if c == nil {
		own := t.client
		own.Messages = own.Messages[:1:1] // what the model is told about itself
		c = &own
		t.chats[chat] = c
	}
	to := strconv.FormatInt(chat, 10)
	t.work.Go(func() {
		t.work.Go(func() { t.post("sendChatAction", url.Values{"chat_id": {to}, "action": {"typing"}}) })
		t.durable(1)
		c.Messages = append(c.Messages, message{Role: "user", Content: text})
		reply := c.ask(t.b, c.body(t.b))
		c.Messages = append(c.Messages, reply)
		t.durable(2)
		t.post("sendMessage", url.Values{"chat_id": {to}, "text": {reply.Content}})
		t.durable(3)
	})
}

func (t *bot) post(method string, fields url.Values) {
	if err := t.call(context.Background(), method, fields, nil); err != nil {
		t.b.Error(err)
	}
}

// call makes a call to Telegram.
func (t *bot) call(ctx context.Context, method string, fields url.Values, result any) error {
	address := t.town.server.URL + "/bot" + t.town.stage.Token() + "/" + method
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(fields.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := t.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := struct {
		Result any `json:"result"`
	}{result}
	return json.NewDecoder(res.Body).Decode(&answer)
}
