package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// toolRules are about commands that end in tool calls, one round or several.
func toolRules() []rule {
	return []rule{
		{regexp.MustCompile("(?is)^(?:run|execute|terminal|shell)[: ]\\s*`+(?:bash\n|sh\n)?(.+?)`+"), run},
		{regexp.MustCompile(`(?is)^(?:run|execute|terminal|shell)[: ]\s*(.+)$`), run},
		{regexp.MustCompile(`(?is)^write\s+(\S+?):\s*(.*)$`), write},
		{regexp.MustCompile(`(?i)^(?:list|ls\b|dir\b|what files|which files|show (?:the )?files)`), list},
		{regexp.MustCompile("(?i)^(?:read|show|cat|open)\\s+(?:the )?(?:file )?`?([^\\s`]+)`?"), read},
		{regexp.MustCompile(`(?i)^(?:search|grep|look|find)\s+(?:for\s+)?(.+)`), search},
		{regexp.MustCompile(`(?i)^explore`), explore},
		{regexp.MustCompile(`(?i)^parallel`), parallel},
		{regexp.MustCompile(`(?i)^rounds(?:\s+(\d+))?`), rounds},
		{regexp.MustCompile(`(?i)^loop`), repeat},
		{regexp.MustCompile(`(?i)^(?:unknown|no such) tool`), unknownTool},
		{regexp.MustCompile(`(?i)^broken arguments`), brokenArguments},
		{regexp.MustCompile(`(?i)^wrong arguments`), wrongArguments},
	}
}

func listing() Call { return call("search_files", map[string]any{"pattern": "*", "target": "files"}) }

func list(t turn, _ []string) Response {
	if t.rounds == 0 {
		return t.call("I look what is in the work folder.", listing())
	}
	return Say("This is what `search_files` found:\n\n" + fence(t.answered().text, 3000))
}

func read(t turn, args []string) Response {
	if t.rounds == 0 {
		return t.call("", call("read_file", map[string]any{"path": args[0]}))
	}
	return Say(fmt.Sprintf("`read_file` says about `%s`:\n\n%s", args[0], fence(t.answered().text, 3000)))
}

func write(t turn, args []string) Response {
	if t.rounds == 0 {
		return t.call("", call("write_file", map[string]any{"path": args[0], "content": args[1]}))
	}
	return Say(fmt.Sprintf("`write_file` says: %s", t.answered().text))
}

func search(t turn, args []string) Response {
	wanted := strings.Trim(strings.TrimSpace(args[0]), "`\"")
	if t.rounds == 0 {
		return t.call("", call("search_files", map[string]any{"pattern": regexp.QuoteMeta(wanted)}))
	}
	return Say(fmt.Sprintf("`search_files` says about %s:\n\n%s", quoteShort(wanted), fence(t.answered().text, 3000)))
}

func run(t turn, args []string) Response {
	command := strings.TrimSpace(args[0])
	if t.rounds == 0 {
		return t.call("", call("terminal", map[string]any{"command": command}))
	}
	return Say(fmt.Sprintf("`terminal` says about %s:\n\n%s", quoteShort(command), fence(t.answered().text, 3000)))
}

var listedFile = regexp.MustCompile(`(?m)^(.+) \(\d+ bytes?\)$`)

// explore takes three rounds: what is there, what is in the first few files, what follows from it.
func explore(t turn, _ []string) Response {
	switch t.rounds {
	case 0:
		return t.call("First I look what is there.", listing())
	case 1:
		var calls []Call
		for _, file := range listedFile.FindAllStringSubmatch(t.answered().text, -1) {
			if name := file[1]; !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "results/") && len(calls) < 3 {
				calls = append(calls, call("read_file", map[string]any{"path": name}))
			}
		}
		if calls == nil {
			return Say("There are no files to explore. Try \"write notes.txt: something\" first. `search_files` said:\n\n" + fence(t.answered().text, 1000))
		}
		return t.call(fmt.Sprintf("I read %s of what is there.", count(len(calls), "file")), calls...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "I looked at the work folder and read %s:\n\n", count(len(t.results), "file"))
	for _, r := range t.results {
		fmt.Fprintf(&b, "- `%s`: %s\n", argument(r.arguments, "path"), describe(r.text))
	}
	b.WriteString("\nI cannot tell you what they mean: I only count.")
	return Say(b.String())
}

// describe says about a file, as read_file shows it, what can be counted.
func describe(text string) string {
	lines, words, first := 0, 0, ""
	for line := range strings.Lines(text) {
		_, content, numbered := strings.Cut(strings.TrimRight(line, "\n"), "|")
		if !numbered {
			continue
		}
		lines++
		words += len(strings.Fields(content))
		if first == "" {
			first = content
		}
	}
	if lines == 0 {
		return short(text, 100)
	}
	return fmt.Sprintf("%s, %s; it begins with %s", count(lines, "line"), count(words, "word"), quoteShort(first))
}

// parallel makes three calls in one reply.
func parallel(t turn, _ []string) Response {
	if t.rounds == 0 {
		return t.call("I make three calls at once.",
			listing(),
			call("search_files", map[string]any{"pattern": "(?i)error"}),
			call("search_files", map[string]any{"pattern": ".", "output_mode": "count"}))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls ran, these are their results:\n", len(t.results))
	for i, r := range t.results {
		fmt.Fprintf(&b, "\n**%d.** `%s`\n\n%s\n", i+1, r.tool, fence(r.text, 800))
	}
	return Say(b.String())
}

// rounds makes one call a round, each time another one.
func rounds(t turn, args []string) Response {
	if wanted := number(args[0], 5, 1000); t.rounds < wanted {
		return t.call(fmt.Sprintf("Round %d of %d.", t.rounds+1, wanted),
			call("search_files", map[string]any{"pattern": fmt.Sprintf("round %d", t.rounds+1)}))
	}
	return Say(fmt.Sprintf("These were %d rounds, with a tool call each.", t.rounds))
}

// repeat makes the same call for ever; the loop has to notice.
func repeat(t turn, _ []string) Response { return t.call("And once more.", listing()) }

func unknownTool(t turn, _ []string) Response {
	if t.rounds == 0 && !t.req.NoTools() {
		return CallTool("teleport", `{"to":"Olympus"}`)
	}
	return Say("I called a tool that does not exist, `teleport`, and was told:\n\n" + fence(t.answered().text, 1500))
}

func brokenArguments(t turn, _ []string) Response {
	if t.rounds == 0 && !t.req.NoTools() {
		return CallTool("read_file", `{"path": "notes.txt",`)
	}
	return Say("I called `read_file` with arguments that are not JSON, and was told:\n\n" + fence(t.answered().text, 1500))
}

func wrongArguments(t turn, _ []string) Response {
	if t.rounds == 0 && !t.req.NoTools() {
		return CallTool("read_file", `{"file": "notes.txt", "offset": "first"}`)
	}
	return Say("I called `read_file` with arguments that it does not have, and was told:\n\n" + fence(t.answered().text, 1500))
}

// argument returns one argument of a call.
func argument(arguments, name string) string {
	var all map[string]any
	if json.Unmarshal([]byte(arguments), &all) != nil {
		return ""
	}
	return fmt.Sprint(all[name])
}

// number reads a number out of a command.
func number(s string, otherwise, most int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return min(max(n, 0), most)
}
