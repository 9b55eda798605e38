package web

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// pdf makes a PDF with one line on each page.
func pdf(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), fmt.Sprintf(format, args...))
	}
	kids := ""
	for i := range lines {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[%s]/Count %d>>", kids, len(lines))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, line := range lines {
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		fmt.Fprintf(z, "BT /F 12 Tf 72 700 Td (%s) Tj ET", line)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>", 5+2*i)
		object("<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream", packed.Len(), packed.String())
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return b.String()
}

func TestPDF(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
		failed     bool
	}{
		"two pages": {pdf(t, "The first page", "and the second one"), "PDF, 2 pages\n\nThe first page\n\nand the second one", false},
		"cut":       {pdf(t, "The first page")[:100], "PDF that cannot be read", true},
	} {
		t.Run(name, func(t *testing.T) {
			address, o := site(t, pages("text/html", c.body)) // which it is not
			r := call(t, extractor(t, o, nil), map[string]any{"url": address})
			if r.Failed != c.failed || !strings.Contains(r.Text, c.want) {
				t.Errorf("%+v, want %q", r, c.want)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		address, o := site(t, pages("application/pdf", "%PDF-1.7\n"+strings.Repeat("x", maxBody)))
		if r := call(t, extractor(t, o, nil), map[string]any{"url": address}); r.Class != tools.FailArguments || !strings.Contains(r.Text, "too large") {
			t.Errorf("%+v", r)
		}
	})
}

// TestPDFStops reads a PDF that takes its reader minutes.
func TestPDFStops(t *testing.T) {
	body := "%PDF-1.7\n1 0 obj\n" + strings.Repeat("[", 1_000_000) + "\nendobj\ntrailer<</Root 1 0 R/Size 99999999999>>\nstartxref\n9\n%%EOF"
	address, o := site(t, pages("application/pdf", body))
	tool := extractor(t, o, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if r, err := tool.Call(ctx, here, fmt.Appendf(nil, `{"url": %q}`, address)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", r, err)
	}
}
