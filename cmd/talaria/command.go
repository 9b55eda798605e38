package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// command is a word of the command line and what it does.
type command struct {
	name  string
	about string // its line in the usage text; empty = it has none
	run   func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

// choose runs the command that the first argument names, with the others. program is what stands before it.
func choose(ctx context.Context, program, about string, all []command, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		usage(stderr, program, about, all)
		return exit{code: 2}
	}
	name := args[0]
	switch name {
	case "help", "--help", "-h":
		usage(stdout, program, about, all)
		return nil
	case "--version", "-v":
		name = "version"
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		usage(stderr, program, about, all)
		return exit{2, fmt.Errorf("there is no command %q", strings.TrimPrefix(program+" "+args[0], "talaria "))}
	}
	return all[i].run(ctx, args[1:], stdout, stderr)
}

func usage(w io.Writer, program, about string, all []command) {
	fmt.Fprintf(w, "%s\n\nUsage:\n", about)
	for _, c := range all {
		if c.about != "" {
			fmt.Fprintf(w, "  %s %-8s  %s\n", program, c.name, c.about)
		}
	}
	fmt.Fprintf(w, "\n\"%s COMMAND -h\" shows the flags of a command.\n", program)
}

// flags makes a flag set that reports to stderr. What it takes beside its flags may be told, as in "export KEY".
func flags(name string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("talaria "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	return f
}

// parse reads the flags and the arguments among them: one for each of the names, where those in brackets may be missing.
// Any other argument is an error. The flag set has said what is wrong with a flag already.
func parse(f *flag.FlagSet, args []string, names ...string) ([]string, error) {
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage:", strings.Join(append([]string{f.Name(), "[flags]"}, names...), " "))
		f.PrintDefaults()
	}
	var found []string
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, exit{code: 2}
		}
		if f.NArg() == 0 {
			break
		}
		if len(found) == len(names) {
			return nil, exit{2, fmt.Errorf("%s takes no argument %q", f.Name(), f.Arg(0))}
		}
		found, args = append(found, f.Arg(0)), f.Args()[1:]
	}
	if n := len(found); n < len(names) && !strings.HasPrefix(names[n], "[") {
		return nil, exit{2, fmt.Errorf("%s needs an argument: %s", f.Name(), names[n])}
	}
	return found, nil
}
