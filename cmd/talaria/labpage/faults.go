package labpage

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// The targets that a fault can be aimed at. "anything" also hits polls, look-ups and typing.
const (
	targetMessage  = "message"
	targetEdit     = "edit"
	targetAnything = "anything"
)

// faultMethods names the API method behind each target, as the simulators name it.
func faultMethods(p platforms.Name) map[string]string {
	switch p {
	case platforms.Telegram:
		return map[string]string{targetMessage: "sendMessage", targetEdit: "editMessageText", targetAnything: ""}
	case platforms.Slack:
		return map[string]string{targetMessage: "chat.postMessage", targetEdit: "chat.update", targetAnything: ""}
	case platforms.Discord:
		return map[string]string{
			targetMessage: "POST /channels/messages", targetEdit: "PATCH /channels/messages", targetAnything: "",
		}
	}
	return map[string]string{targetAnything: ""}
}

// faultTargets lists the targets of a platform in the order of the page's menu.
func faultTargets(p platforms.Name) []string {
	targets := []string{}
	for _, t := range []string{targetMessage, targetEdit, targetAnything} {
		if _, ok := faultMethods(p)[t]; ok {
			targets = append(targets, t)
		}
	}
	return targets
}

// faultNamed makes the fault behind one of the page's knobs.
func faultNamed(name string) (sim.Fault, bool) {
	switch name {
	case "429":
		return sim.Fault{Status: http.StatusTooManyRequests, RetryAfter: 3 * time.Second}, true
	case "500":
		return sim.Fault{Status: http.StatusInternalServerError}, true
	case "lost":
		return sim.Fault{Lose: true}, true
	case "cut":
		return sim.Fault{Cut: true}, true
	}
	return sim.Fault{}, false
}

func (s server) addFault(_ context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	fault, ok := faultNamed(a.Fault)
	if !ok {
		return answer{}, fmt.Errorf("there is no fault %q", a.Fault)
	}
	method, ok := faultMethods(a.Platform)[a.Target]
	if !ok {
		return answer{}, fmt.Errorf("a fault cannot be aimed at %q here", a.Target)
	}
	fault.Method = method
	stage.Faults().Add(fault)
	return answer{}, nil
}

func (s server) clearFaults(_ context.Context, a action) (answer, error) {
	stage, err := s.stage(a)
	if err != nil {
		return answer{}, err
	}
	stage.Faults().Clear()
	return answer{}, nil
}
