package web

import (
	"slices"
	"sync"
	"time"
)

const (
	shelfSize = 16               // pages
	shelfTime = 10 * time.Minute // since a page was fetched
)

// book is a page on the shelf.
type book struct {
	conversation string
	address      string // as it was asked for
	full         bool
	until        time.Time
	page         page
}

// shelf keeps the newest pages, so that who reads one in parts reads the same page all along. A conversation sees its own
// pages alone. It may be used from any goroutine.
type shelf struct {
	mu    sync.Mutex
	books []book // the oldest first
}

func (s *shelf) put(b book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books = slices.DeleteFunc(s.books, func(other book) bool { return other.same(b) })
	if len(s.books) == shelfSize {
		s.books = slices.Delete(s.books, 0, 1)
	}
	b.until = time.Now().Add(shelfTime)
	s.books = append(s.books, b)
}

// find returns the page of a book that is like b.
func (s *shelf) find(b book) (page, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.books = slices.DeleteFunc(s.books, func(other book) bool { return now.After(other.until) })
	if i := slices.IndexFunc(s.books, b.same); i >= 0 {
		return s.books[i].page, true
	}
	return page{}, false
}

func (b book) same(other book) bool {
	return b.conversation == other.conversation && b.address == other.address && b.full == other.full
}
