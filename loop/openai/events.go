package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line of a stream that is read; a whole reply in one chunk fits.
const maxLine = 8 << 20

// events is the body of a stream without everything that is not data.
type events struct {
	lines *bufio.Reader
	body  io.Closer
	x     *exchange
	event string // of the event that is being read
	ready []byte // what the next Read returns
}

func (e *events) Close() error { return e.body.Close() }

func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 {
		line, err := e.line()
		if err != nil {
			return 0, err
		}
		e.take(line)
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// take looks at one line of the stream.
func (e *events) take(line []byte) {
	line = bytes.TrimSpace(line)
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case len(line) == 0:
		e.event = ""
	case string(name) == "event":
		e.event = string(value)
	case line[0] == '{': // a bare object, most often an error
		e.data(line)
	case string(name) != "data" || len(value) == 0:
	case string(value) == "[DONE]":
		e.x.sawDone = true
		e.ready = []byte("data: [DONE]\n")
	case e.event == "error":
		e.ready = fmt.Appendf(nil, "data: {%q:%s}\n", errorEvent, value)
	default:
		e.data(value)
	}
}

// data hands on a chunk. The space keeps go-openai from recognising an error by its first bytes: it would wait for one
// more line before it says so.
func (e *events) data(value []byte) {
	e.ready = append([]byte("data: "), value...)
	if value[0] == '{' {
		e.ready = append([]byte("data: { "), value[1:]...)
	}
	e.ready = append(e.ready, '\n')
}

// line returns the next line, the last one even if it has no end.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxLine:
			return nil, badRequest("the model sent a line of more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}
