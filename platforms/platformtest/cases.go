package platformtest

import "testing"

type testCase struct {
	name string
	run  func(*testing.T, *running)
}

func cases() []testCase {
	return []testCase{
		{"a message arrives", arrives},
		{"messages of a chat keep their order", keepsOrder},
		{"a mention in a group is for the bot and can be answered", mentioned},
		{"talk in a group is not for the bot", notMentioned},
		{"a changed message arrives as an edit", editArrives},
		{"a failed commit is delivered again", redelivered},
		{"one event delivered twice has one native id", deliveredTwice},
		{"a formatted message is shown", sends},
		{"a blank text gives no piece", blankSplit},
		{"all pieces of a long text are accepted", splitAccepted},
		{"a too long text is refused as such", tooLong},
		{"plain text is shown as it stands", plainText},
		{"a message is edited in place", edits},
		{"an edit that changes nothing is a success", notModified},
		{"an edit of a vanished message says so", editGone},
		{"a message is deleted, also twice", deletes},
		{"a refused chat is forbidden", forbidden},
		{"a rate limit says how long to wait", rateLimited},
		{"a frozen chat does not hold the caller", frozenChat},
		{"a lost response leaves the outcome unknown", lostResponse},
		{"a lost response of an edit can be repeated", lostEdit},
		{"an unreachable platform is transient", unreachable},
		{"a button press arrives and its receipt is shown", pressed},
		{"a slow sink does not hold the acknowledgement", pressedSlow},
		{"typing is shown", typing},
		{"a draft changes and gives way to the message", drafted},
		{"a draft vanishes by itself", draftVanishes},
		{"lost calls do not end the connection", survives},
		{"an ended adapter returns", ends},
		{"bad credentials end Run", fatal},
	}
}
