package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// maxLine is the longest line of a stream that is read; a whole reply in one chunk fits.
const maxLine = 8 << 20

// drainFor is how long the end of a stream is waited for after [DONE], so that its connection can be used again.
const drainFor = 100 * time.Millisecond

// events is the body of a stream with nothing in it but events that say something, framed as the mode wants them. An
// error among them is what Read returns.
type events struct {
	lines *bufio.Reader
	body  io.Closer
	x     *Exchange
	event []byte // the name of the event that is being read
	long  []byte // room for a line that is longer than what lines holds
	frame []byte // room for ready
	ready []byte // what the next Read returns
	err   error  // that the server sent
}

// Close reads what is left after [DONE] first. It is nothing, as a rule, but the end of the body, and only a connection
// that was read to there is used again.
func (e *events) Close() error {
	if e.x.sawDone {
		e.x.timer.Reset(drainFor)
		_, _ = io.CopyN(io.Discard, e.lines, maxErrorBody) // whatever it is, the reply is complete
	}
	return e.body.Close()
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 && e.err == nil {
		line, err := e.line()
		if err != nil {
			return 0, err
		}
		e.take(line)
	}
	if len(e.ready) == 0 {
		return 0, e.err
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
		e.event = e.event[:0]
	case string(name) == "event":
		e.event = append(e.event[:0], value...)
	case line[0] == '{': // a bare object, most often an error
		e.data(line)
	case string(name) != "data" || len(value) == 0:
	case string(value) == "[DONE]":
		e.x.sawDone = true
		e.ready = []byte("data: [DONE]\n\n")
	default:
		e.data(value)
	}
}

// data hands on the data of an event, or keeps the error that it is.
func (e *events) data(value []byte) {
	switch {
	case string(e.event) == "ping":
	case string(e.event) == "error" || isError(value):
		e.err = classify(statusOK, nil, value)
		if !json.Valid(value) {
			e.err = Network(ErrGarbled)
		}
	default:
		e.frame = e.x.mode.Frame(e.frame[:0], e.event, value)
		e.ready = e.frame
	}
}

// AppendEvent appends an event of a stream as the libraries of the modes with named events read it.
func AppendEvent(to, event, data []byte) []byte {
	to = append(append(to, "event: "...), event...)
	to = append(append(to, "\ndata: "...), data...)
	return append(to, "\n\n"...)
}

// isError tells whether data is an error, in the envelope that nearly all servers use, or typed as one.
func isError(value []byte) bool {
	if !bytes.Contains(value, []byte("error")) {
		return false
	}
	var d struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(value, &d) == nil && (d.Type == "error" || first(d.Error) != nil)
}

// line returns the next line, the last one even if it has no end. It is valid until the next one is read.
func (e *events) line() ([]byte, error) {
	line, err := e.lines.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	e.long = append(e.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(e.long) > maxLine {
			return nil, BadRequest("the model sent a line of more than %d MiB", maxLine>>20)
		}
		line, err = e.lines.ReadSlice('\n')
		e.long = append(e.long, line...)
	}
	if err == nil || errors.Is(err, io.EOF) && len(e.long) > 0 {
		return e.long, nil
	}
	return nil, err
}
