package slack

import "github.com/talaria-agent/talaria/platforms/sim/spec"

// newerThanDescription lists what Slack has added since its machine-readable description of the Web API (OpenAPI 2,
// version 1.7.0, 2021), each with the page of the documentation that vouches for it.
func newerThanDescription() spec.Newer {
	const reference = "https://docs.slack.dev/reference/methods/"
	return spec.Newer{
		"apps.connections.open":                      reference + "apps.connections.open",
		"assistant.threads.setStatus":                reference + "assistant.threads.setStatus",
		"chat.postMessage.metadata":                  reference + "chat.postMessage",
		"chat.update.metadata":                       reference + "chat.update",
		"conversations.history.include_all_metadata": reference + "conversations.history",
		"conversations.replies.include_all_metadata": reference + "conversations.replies",
	}
}
