package platforms

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestErrors(t *testing.T) {
	cause := errors.New("too many requests")
	err := fmt.Errorf("deliver: %w", &Error{Class: RateLimited, Op: "telegram sendMessage", Wait: 5 * time.Second, Err: cause})
	if ClassOf(err) != RateLimited || WaitOf(err) != 5*time.Second || !errors.Is(err, cause) {
		t.Errorf("class %q, wait %v", ClassOf(err), WaitOf(err))
	}
	if want := "deliver: telegram sendMessage: rate limited (wait 5s): too many requests"; err.Error() != want {
		t.Errorf("error reads %q, want %q", err, want)
	}
	if ClassOf(nil) != "" || ClassOf(cause) != Transient || WaitOf(cause) != 0 {
		t.Error("an error without a class is not transient")
	}
}

func TestAddress(t *testing.T) {
	a := Address{Platform: Slack, Account: "T1", Chat: "C1"}
	if a.String() != "slack/T1/C1" {
		t.Errorf("address is %q", a)
	}
	if a.Thread = "1.2"; a.String() != "slack/T1/C1/1.2" {
		t.Errorf("address is %q", a)
	}
}
