package web

import (
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
)

// decode returns a text in UTF-8. Its character set is what its mark, the server or the page itself says; if nobody says,
// it is UTF-8 if it can be, and else guessed from the bytes.
func decode(body []byte, declared string) string {
	coding, _, certain := charset.DetermineEncoding(body, declared)
	if !certain {
		if utf8.Valid(body) {
			return string(body)
		}
		if guess, err := chardet.NewHtmlDetector().DetectBest(body); err == nil {
			if found, _ := charset.Lookup(guess.Charset); found != nil {
				coding = found
			}
		}
	}
	text, err := coding.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF")
}
