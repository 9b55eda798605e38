package gateway

// The headings of /help and of docs/commands.md, in their order.
const (
	underTalking  = "Talking"
	underSession  = "Session"
	underWork     = "Work"
	underMemory   = "Memory and tools"
	underSettings = "Settings"
	underAdmins   = "For admins"
)

// commands returns all commands, in the order of /help.
func commands() []command {
	return []command{
		{
			name: "help", group: underTalking, help: "Show this list, or how to use one of the commands.", argument: "command", run: (*conversation).cmdHelp,
			uses: []use{{"", "this list"}, {"undo", "what can stand behind one of them"}},
		},
		{
			name: "stop", group: underTalking, help: "Stop what I am doing; `all`: and what runs in the background.", argument: "all", run: (*conversation).cmdStop,
			uses: []use{{"", "stop what I am doing, and forget what waits"}, {"all", "end what runs in the background, too"}},
		},
		{name: "retry", group: underTalking, help: "Take back the last answer and try again.", run: (*conversation).cmdRetry},
		{
			name: "undo", group: underTalking, help: "Take back the last exchange, or as many as you say.", argument: "number", run: (*conversation).cmdUndo,
			uses: []use{{"", "the last one"}, {"3", "the last three"}},
		},
		{
			name: "approve", group: underTalking, help: "Allow what I ask permission for: once, or add `session` or `always`.", argument: "extent", run: (*conversation).cmdApprove,
			uses: []use{{"", "once"}, {"session", "until the next session"}, {"always", "for good"}},
		},
		{
			name: "deny", group: underTalking, help: "Do not allow what I ask permission for; say why, if you like.", argument: "reason", run: (*conversation).cmdDeny,
			uses: []use{{"", "no"}, {"look into the other folder first", "no, and what to do instead"}},
		},
		{
			name: "queue", group: underTalking, help: "Answer this message after what I am doing now.", argument: "text", run: (*conversation).cmdQueue,
			uses: []use{{"check the other file, too", "whatever the mode for new messages is"}},
		},
		{
			name: "steer", group: underTalking, help: "Take in this message at my next step, without stopping.", argument: "text", run: (*conversation).cmdSteer,
			uses: []use{{"use the new format", "whatever the mode for new messages is"}},
		},

		{name: "new", group: underSession, help: "Start a new session: I forget what we talked about.", run: (*conversation).cmdNew},
		{name: "status", group: underSession, help: "Show what I am doing and how full my memory is.", run: (*conversation).cmdStatus},
		{name: "context", group: underSession, help: "Show what fills the model's window, and when I shorten our history.", run: (*conversation).cmdContext},
		{name: "usage", group: underSession, help: "Show what this session has used: turns, tokens and what they cost.", run: (*conversation).cmdUsage},
		{
			name: "search", group: underSession, help: "Search what we said here, in all our sessions.", argument: "text", run: (*conversation).cmdSearch,
			uses: []use{{"certificate billing", "the best matches, with what stands around them"}},
		},
		{
			name: "compress", group: underSession, help: "Summarise our conversation now; name what matters most behind the command.", argument: "focus", run: (*conversation).cmdCompress,
			uses: []use{{"", "all of it"}, {"the plan for Monday", "and keep that in particular"}},
		},
		{name: "sessions", group: underSession, help: "List our sessions here.", run: (*conversation).cmdSessions},
		{
			name: "resume", group: underSession, help: "Go back to an earlier session.", argument: "number", run: (*conversation).cmdResume,
			uses: []use{{"2", "to the second one of the list of sessions"}},
		},
		{
			name: "branch", group: underSession, help: "Go on in a copy of this session; I keep the original.", argument: "title", run: (*conversation).cmdBranch,
			uses: []use{{"", "without a name"}, {"The other way", "with one"}},
		},
		{
			name: "title", group: underSession, help: "Give this session a name.", argument: "title", run: (*conversation).cmdTitle,
			uses: []use{{"Holiday plans", "this is its name from now on"}},
		},

		{
			name: "bg", group: underWork, help: "Work on something in the background; alone: show what I work on there.", argument: "text", run: (*conversation).cmdBg,
			uses: []use{
				{"", "what I work on there"},
				{"count the lines of all logs", "work on that"},
				{"stop 1", "stop the first task"},
				{"stop job 1", "stop the run of a job"},
			},
		},
		{
			name: "cron", group: underWork, help: "Show what I do by myself at set times, and change it.", argument: "action", run: (*conversation).cmdCron,
			uses: []use{
				{"", "all jobs"},
				{"add 0 9 * * 1-5 Tell me what the day brings", "on working days at nine"},
				{"add every 2h Look at the queue", "again and again"},
				{"add in 30m Remind me of the tea", "once"},
				{"pause 1", "and `resume 1`, `run 1`, `remove 1`"},
				{"zone Europe/Berlin", "the time zone of jobs that are made here"},
			},
		},
		{
			name: "diff", group: underWork, help: "Show what I changed in the files in my last turn, or in the last N.", argument: "number", run: (*conversation).cmdDiff,
			uses: []use{{"", "in the last turn"}, {"3", "in the last three"}},
		},
		{
			name: "rollback", group: underWork, help: "Take back what I changed in the files in my last turn, or in the last N.", argument: "number", run: (*conversation).cmdRollback,
			uses: []use{{"", "of the last turn"}, {"3", "of the last three"}, {"1 force", "also what somebody else has changed since"}},
		},

		{name: "memory", group: underMemory, help: "Show what I have noted about you.", run: (*conversation).cmdMemory},
		{
			name: "skills", group: underMemory, help: "Show the skills that I can go by, or what one of them says.", argument: "name", run: (*conversation).cmdSkills,
			uses: []use{{"", "all of them"}, {"deploy", "what one says"}},
		},
		{name: "tools", group: underMemory, help: "Show what I can use, and what is missing.", run: (*conversation).cmdTools},
		{name: "mcp", group: underMemory, help: "Show the MCP servers whose tools I use, and how they are.", run: (*conversation).cmdMCP},
		{
			name: "approvals", group: underMemory, help: "Show what you have allowed for longer than once, or take it back.", argument: "action", run: (*conversation).cmdApprovals,
			uses: []use{{"", "show it"}, {"revoke 1", "take the first back"}, {"revoke all", "take everything back"}},
		},
		{name: "reload", group: underMemory, help: "Read the context file, my notes and the list of skills again.", run: (*conversation).cmdReload},

		{
			name: "busy", group: underSettings, help: "Show or set what a new message does while I work.", argument: "mode", run: (*conversation).cmdBusy,
			uses: busyUses(),
		},
		{
			name: "progress", group: underSettings, help: "Show or set what I show while I work.", argument: "mode", run: (*conversation).cmdProgress,
			uses: progressUses(),
		},
		{name: "whoami", group: underSettings, help: "Show your id, that of this chat, and what you may do.", run: (*conversation).cmdWhoami},
		{name: "version", group: underSettings, help: "Show which version of me this is.", run: (*conversation).cmdVersion},

		{
			name: "sethome", group: underAdmins, help: "For admins: tell the owner here what needs care.", argument: "off", admin: true, run: (*conversation).cmdSetHome,
			uses: []use{{"", "here"}, {"off", "nowhere on this platform"}},
		},
		{name: "users", group: underAdmins, help: "For admins: show who may talk to me.", admin: true, run: (*conversation).cmdUsers},
		{name: "restart", group: underAdmins, help: "For admins: end, so that what watches over me starts me again.", admin: true, run: (*conversation).cmdRestart},
	}
}

func busyUses() []use {
	all := []use{{"", "show it"}}
	for _, m := range BusyModes() {
		all = append(all, use{m.Mode, m.Meaning})
	}
	return append(all, use{"default", "as it is configured"})
}
