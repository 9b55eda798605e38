package web

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	pdfTime   = time.Minute // for one document
	pdfMemory = 4096        // for its reader, in WebAssembly's units of 64 KiB: 256 MiB
)

// pdfText is what could be read of a PDF.
type pdfText struct {
	text        string
	read, pages int // not all of them if the time was up, or the text was enough
}

// readPDF reads a PDF with PDFium, the reader of Chrome, in a WebAssembly machine of its own: a hostile file can break
// that, but neither get out of it nor have more memory and time than it is given. The machine is interpreted, because
// translating it first takes longer than reading most documents. An error means that nothing could be read.
func readPDF(ctx context.Context, body []byte) (t pdfText, err error) {
	ctx, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	machine := wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling). // PDFium needs both
		WithMemoryLimitPages(pdfMemory).WithCloseOnContextDone(true)
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxTotal: 1, FSConfig: wazero.NewFSConfig(), // no files at all
		RuntimeConfig: machine, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return t, fmt.Errorf("start the PDF reader: %w", err)
	}
	defer pool.Close() // a machine that was stopped cannot be closed, but is gone
	reader, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return t, fmt.Errorf("start the PDF reader: %w", err)
	}
	return readPages(reader, body)
}

func readPages(reader pdfium.Pdfium, body []byte) (t pdfText, err error) {
	doc, err := reader.OpenDocument(&requests.OpenDocument{File: &body})
	if err != nil {
		return t, fmt.Errorf("open the PDF: %w", err)
	}
	count, err := reader.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return t, fmt.Errorf("count the pages of the PDF: %w", err)
	}
	t.pages = count.PageCount
	var text strings.Builder
	for ; t.read < t.pages && text.Len() < maxText; t.read++ {
		page, err := reader.GetPageText(&requests.GetPageText{
			Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: t.read}},
		})
		if err != nil && t.read == 0 {
			return t, fmt.Errorf("read the first page of the PDF: %w", err)
		}
		if err != nil {
			break
		}
		text.WriteString(strings.TrimSpace(pdfMarks.Replace(page.Text)) + "\n\n")
	}
	t.text = text.String()
	return t, nil
}

// pdfMarks turns what PDFium writes into plain text: its line ends, and its sign for a hyphen at the end of a line.
var pdfMarks = strings.NewReplacer("\r\n", "\n", "\ufffe\n", "", "\ufffe", "", "\x00", "")
