package loop

import "fmt"

// answer is the outcome of a turn whose model said its last word: by itself, or in the grace call.
func (t *turn) answer() Outcome {
	t.said = true
	if t.ending == "" {
		return Outcome{Reason: EndAnswered, Text: t.reply.message.Text, Said: true}
	}
	o := Outcome{Reason: t.ending, Said: true}
	o.Text = t.reply.message.Text + "\n\n_" + sentence(o) + "_"
	return o
}

// GoOn ends the sentence about a turn that a limit has stopped.
const GoOn = " Say \"continue\" and I go on from here."

// sentence tells a person, in Markdown, why a turn ended without a full answer and what to do next. It is empty for a
// turn that gave its place to a newer message, since that one will be answered.
func sentence(o Outcome) string {
	switch o.Reason {
	case EndStopped:
		return "Stopped. Send a message when you want me to go on."
	case EndRounds:
		return "I stopped here because one request may only take so many steps." + GoOn
	case EndTokens:
		return "I stopped here because one request may only use so many tokens." + GoOn
	case EndCalls:
		return "I stopped here because one request may only use so many tool calls." + GoOn
	case EndTimeout:
		return "I stopped here because the time for one request is up." + GoOn
	case EndRepetition:
		return "I stopped here because I was repeating the same step without getting further. " +
			"Tell me what to try instead."
	case EndEmpty:
		return "The model returned an empty answer twice. Please send your message again."
	case EndModelFailed:
		return modelFailure(ModelClass(o.Err))
	case EndCrashed:
		return "The program crashed three times while I was working on this, so I gave it up: the request itself may be the " +
			"cause. The details are in the log. Please try it in another way, or in smaller steps."
	case EndInternal:
		return "Something went wrong inside the program, and this request could not be finished. " +
			"The details are in the log. Please send your message again."
	}
	return ""
}

func modelFailure(class ErrorClass) string {
	switch class {
	case ModelRateLimited:
		return "The model provider is limiting how often it may be asked. Please try again in a few minutes."
	case ModelTooLong:
		return "This conversation has become too long for the model and could not be shortened any further. " +
			"Start a new one with /new."
	case ModelBadRequest:
		return "The model provider refused the request. The details are in the log. " +
			"If it happens again, start a new conversation with /new."
	case ModelAuth:
		return "The model provider did not accept the access key. Whoever runs this bot needs to check it."
	case ModelQuota:
		return "The model provider reports that the quota or credit is used up. Whoever runs this bot needs to check it."
	case ModelFiltered:
		return "The model provider's content filter withheld the answer. Try to ask in another way."
	}
	return fmt.Sprintf("The model could not be reached (%s), and trying again did not help. Please try again later.", class)
}
