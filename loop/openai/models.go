package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop"
)

// Models lists the names of the models that a server has, in alphabetical order. Only the server and the key of the
// configuration count. A refused key is a *loop.ModelError; not every server has a list.
func Models(ctx context.Context, config Config) ([]string, error) {
	c := chat.DefaultConfig(config.APIKey)
	c.BaseURL = located(config).BaseURL
	c.HTTPClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	list, err := chat.NewClientWithConfig(c).ListModels(ctx)
	if err != nil {
		var refused *chat.APIError
		var other *chat.RequestError
		switch {
		case errors.As(err, &refused) && isAuth(refused.HTTPStatusCode), errors.As(err, &other) && isAuth(other.HTTPStatusCode):
			return nil, &loop.ModelError{Class: loop.ModelAuth, Err: errors.New("the key is refused")}
		}
		return nil, fmt.Errorf("list the models: %w", err)
	}
	var names []string
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	slices.Sort(names)
	return names, nil
}

func isAuth(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}
