package demo

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// troubleRules are about what can go wrong with a model.
func (p *planner) troubleRules() []rule {
	return []rule{
		{regexp.MustCompile(`(?i)^fail(?:\s+(\w+))?`), p.fail},
		{regexp.MustCompile(`(?i)^cut(?:\s+(once))?`), p.cut},
		{regexp.MustCompile(`(?i)^empty(?:\s+(once))?`), p.empty},
		{regexp.MustCompile(`(?i)^hang`), hang},
		{regexp.MustCompile(`(?i)^filter`), filter},
		{regexp.MustCompile(`(?i)^slow(?:\s+(\d+))?`), slow},
		{regexp.MustCompile(`(?i)^think(?:\s+(\d+))?`), think},
	}
}

// fail answers with an HTTP error: once, or always with the status that was asked for.
func (p *planner) fail(t turn, args []string) Response {
	status := http.StatusInternalServerError
	if args[0] == "once" {
		if !p.once.first(t) {
			return Say("The first try failed with status 500, as you wanted. This is the second.")
		}
	} else if n, err := strconv.Atoi(args[0]); err == nil && n >= 400 && n <= 599 {
		status = n
	}
	resp := Fail(status, fmt.Sprintf("you asked for a failure with status %d", status))
	if status == http.StatusTooManyRequests {
		resp.Header = http.Header{"Retry-After": {"1"}}
	}
	return resp
}

// cut breaks the connection in the middle of the answer.
func (p *planner) cut(t turn, args []string) Response {
	if args[0] == "once" && !p.once.first(t) {
		return Say("The first try was cut off, as you wanted. This is the second.")
	}
	return Response{Text: "This answer ends in the middle of its second", Cut: true}
}

func (p *planner) empty(t turn, args []string) Response {
	if args[0] == "once" && !p.once.first(t) {
		return Say("The first reply was empty, as you wanted. This is the second.")
	}
	return Response{}
}

func hang(turn, []string) Response {
	return Response{Text: "After this sentence I say nothing more, and do not end either.", Hang: true}
}

func filter(turn, []string) Response {
	return Response{Text: "This answer is withheld", Finish: "content_filter"}
}

// slow streams for so many seconds.
func slow(_ turn, args []string) Response {
	seconds := number(args[0], 10, 600)
	var b strings.Builder
	fmt.Fprintf(&b, "I count to %d slowly:", seconds)
	for i := range seconds {
		fmt.Fprintf(&b, " %d", i+1)
	}
	const lead = 5 // words before the numbers
	return Response{Text: b.String(), Pause: time.Duration(seconds) * time.Second / time.Duration(seconds+lead)}
}

// think says nothing for so many seconds.
func think(_ turn, args []string) Response {
	seconds := number(args[0], 5, 600)
	return Response{
		Wait:      time.Duration(seconds) * time.Second,
		Reasoning: "Nothing is going on in here.",
		Text:      fmt.Sprintf("I pretended to think for %d seconds. I cannot think.", seconds),
	}
}
