package telegram

import (
	"context"
	"errors"
	"io"
	"net/http"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// maxDownload is the largest file that the Bot API gives to a bot (core.telegram.org/bots/api#getfile).
const maxDownload = 20 << 20

// Fetch implements platforms.Fetcher: it asks where the file is, which is good for an hour, and reads it from there. That
// address holds the bot's token, so it stays in here.
func (a *Adapter) Fetch(ctx context.Context, file platforms.Attachment, into io.Writer, most int64) error {
	if file.Size > maxDownload {
		return &platforms.Error{Class: platforms.TooLong, Op: "telegram getFile", Err: errors.New("bots get files of at most 20 MB")}
	}
	var where tgbotapi.File
	err := a.api.do(ctx, call{
		method: "getFile", params: tgbotapi.Params{"file_id": file.Ref}, permit: methodPermit("getFile", platforms.PriorityLookup),
	}, &where)
	if err != nil {
		return err
	}
	return a.api.download(ctx, where.FilePath, into, min(most, maxDownload))
}

func (a *api) download(ctx context.Context, path string, into io.Writer, most int64) error {
	const op = "telegram file"
	if a.resting.Load() {
		defer a.transport.CloseIdleConnections()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/file/bot"+a.token+"/"+path, nil)
	if err != nil {
		return &platforms.Error{Class: platforms.Invalid, Op: op, Err: errors.New("the file has no address")}
	}
	err = platforms.Download(a.client, r, op, into, most, nil)
	var failed *platforms.Error
	if errors.As(err, &failed) && failed.Err != nil {
		failed.Err = a.redact(failed.Err)
	}
	return err
}
