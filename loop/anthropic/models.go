package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/talaria-agent/talaria/loop"
)

// mostModels is how many models are listed at most; a page of the API holds as many.
const mostModels = 1000

// Models lists the names of the models that a server has, in alphabetical order. Only the server and the key of the
// configuration count. A refused key is a *loop.ModelError; not every server has a list.
func Models(ctx context.Context, config Config) ([]string, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	service := sdk.NewModelService(
		option.WithBaseURL(base(config)), option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithAPIKey(config.APIKey))
	page, err := service.List(ctx, sdk.ModelListParams{Limit: sdk.Int(mostModels)})
	if err != nil {
		var refused *sdk.Error
		if errors.As(err, &refused) && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden) {
			return nil, &loop.ModelError{Class: loop.ModelAuth, Err: errors.New("the key is refused")}
		}
		return nil, fmt.Errorf("list the models: %w", err)
	}
	var names []string
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	slices.Sort(names)
	return names, nil
}
