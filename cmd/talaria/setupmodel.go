package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/anthropic"
	"github.com/talaria-agent/talaria/loop/openai"
)

// maker is somebody who runs models.
type maker struct{ label, api, url string }

func makers() []maker {
	return []maker{
		{"OpenAI", "responses", openai.DefaultBaseURL},
		{"Anthropic", messagesAPI, anthropic.DefaultBaseURL},
		{"OpenRouter", "chat", "https://openrouter.ai/api/v1"},
		{"Ollama on this machine", "chat", "http://127.0.0.1:11434/v1"},
		{"Another OpenAI-compatible API", "chat", ""},
	}
}

// keyVariable is the name of the model's key in the environment.
func (w *wizard) keyVariable() string {
	if w.model.API == messagesAPI {
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

// chooseModel asks where the model is, lists what there is, and takes one. A key that the provider does not take is asked for
// again.
func (w *wizard) chooseModel(ctx context.Context) error {
	fmt.Fprintln(w.out, "\nModel")
	if err := w.chooseMaker(); err != nil {
		return err
	}
	for {
		names, err := w.list(ctx)
		if err == nil {
			return w.chooseName(names)
		}
		text := newRedactor(w.secrets()...).text(oneLine(err))
		if ctx.Err() != nil {
			return errNothingWritten
		}
		if w.asks == nil {
			if w.model.Name == "" || loop.ModelClass(err) == loop.ModelAuth {
				return fmt.Errorf("model: %s", text)
			}
			fmt.Fprintf(w.out, "  ! The provider does not list its models (%s); talaria check tries yours.\n", text)
			return nil
		}
		fmt.Fprintf(w.out, "  The provider does not list its models: %s\n", text)
		again, err := w.asks.yes("Give another key?", "No: you type the model's name, and talaria check tries it.")
		if err != nil {
			return err
		}
		if !again {
			return w.chooseName(nil)
		}
		if w.model.APIKey, err = w.asks.secret("Key", "Empty if it needs none."); err != nil {
			return err
		}
	}
}

func (w *wizard) chooseMaker() (err error) {
	if w.asks == nil {
		w.model.API = cmp.Or(w.model.API, "chat")
		if w.model.BaseURL == "" {
			w.model.BaseURL = map[bool]string{true: anthropic.DefaultBaseURL, false: openai.DefaultBaseURL}[w.model.API == messagesAPI]
		}
		return nil
	}
	if w.model.API == "" || w.model.BaseURL == "" {
		var options []option
		for _, m := range makers() {
			options = append(options, option{m.label, m.label})
		}
		if w.model.BaseURL != "" && w.model.BaseURL != openai.DefaultBaseURL {
			options = append([]option{{"", "The one at " + withoutPassword(w.model.BaseURL)}}, options...)
		}
		label, err := w.asks.choose("Who runs the model?", "", options)
		if err != nil {
			return err
		}
		w.model.API = cmp.Or(w.model.API, "chat")
		for _, m := range makers() {
			if m.label == label {
				w.model.API, w.model.BaseURL = m.api, m.url
			}
		}
	}
	if w.model.BaseURL == "" {
		if w.model.BaseURL, err = w.asks.text("Address of the API", "Up to and including the version, like https://host/v1", ""); err != nil {
			return err
		}
		w.model.BaseURL = strings.TrimSpace(w.model.BaseURL)
	}
	if w.model.APIKey == "" {
		w.model.APIKey = w.environment(w.keyVariable())
	}
	if w.model.APIKey == "" {
		w.model.APIKey, err = w.asks.secret("Key", "It is not shown. Empty if it needs none.")
		w.model.APIKey = strings.TrimSpace(w.model.APIKey)
	}
	return err
}

// list asks the provider which models it has.
func (w *wizard) list(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	if w.model.API == messagesAPI {
		return anthropic.Models(ctx, anthropic.Config{BaseURL: w.model.BaseURL, APIKey: w.model.APIKey})
	}
	return openai.Models(ctx, openai.Config{BaseURL: w.model.BaseURL, APIKey: w.model.APIKey})
}

// chooseName takes one of the models, or what is typed if there are none to choose from.
func (w *wizard) chooseName(names []string) (err error) {
	if w.asks == nil {
		for _, name := range names {
			if name == w.model.Name {
				fmt.Fprintf(w.out, "  It works: %s\n", name)
				return nil
			}
		}
		if w.model.Name != "" {
			fmt.Fprintf(w.out, "  ! The provider does not list %s; talaria check tries it.\n", w.model.Name)
			return nil
		}
		return fmt.Errorf("name a model with --model; there are: %s", strings.Join(names, ", "))
	}
	if len(names) > 0 {
		fmt.Fprintf(w.out, "  It works: %d models\n", len(names))
		const other = "\x00"
		options := []option{{other, "Another one, which I type"}}
		for _, name := range names {
			options = append(options, option{name, name})
		}
		if w.model.Name, err = w.asks.choose("Which model?", "/ filters. It must be able to call tools.", append(options[1:], options[0])); err != nil {
			return err
		}
		if w.model.Name != other {
			return nil
		}
	}
	w.model.Name, err = w.asks.text("Name of the model", "As the provider writes it", "")
	if err == nil && strings.TrimSpace(w.model.Name) == "" {
		err = errors.New("without a model there is nothing that answers; run talaria setup again")
	}
	w.model.Name = strings.TrimSpace(w.model.Name)
	return err
}
