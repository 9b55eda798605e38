package main

import (
	"context"
	"errors"
	"io"

	"charm.land/huh/v2"
)

// forms asks on a terminal.
type forms struct {
	ctx   context.Context
	in    io.Reader
	out   io.Writer
	plain bool // one line after the other, for screen readers and simple terminals
}

func (f forms) show(field huh.Field) error {
	err := huh.NewForm(huh.NewGroup(field)).WithAccessible(f.plain).WithInput(f.in).WithOutput(f.out).RunWithContext(f.ctx)
	if errors.Is(err, huh.ErrUserAborted) || errors.Is(err, io.EOF) || f.ctx.Err() != nil {
		return errNothingWritten
	}
	return err
}

func options(all []option) (made []huh.Option[string]) {
	for _, o := range all {
		made = append(made, huh.NewOption(o.label, o.value))
	}
	return made
}

// mostLines is how many lines a list takes.
const mostLines = 15

func (f forms) choose(title, about string, all []option) (chosen string, err error) {
	field := huh.NewSelect[string]().Title(title).Description(about).Options(options(all)...).Height(min(len(all)+3, mostLines)).Value(&chosen)
	return chosen, f.show(field)
}

func (f forms) several(title, about string, all []option, chosen []string) ([]string, error) {
	err := f.show(huh.NewMultiSelect[string]().Title(title).Description(about).Options(options(all)...).Value(&chosen))
	return chosen, err
}

func (f forms) text(title, about, value string) (string, error) {
	err := f.show(huh.NewInput().Title(title).Description(about).Value(&value))
	return value, err
}

func (f forms) secret(title, about string) (value string, err error) {
	err = f.show(huh.NewInput().Title(title).Description(about).EchoMode(huh.EchoModeNone).Value(&value))
	return value, err
}

func (f forms) yes(title, about string) (sure bool, err error) {
	sure = true
	err = f.show(huh.NewConfirm().Title(title).Description(about).Value(&sure))
	return sure, err
}
