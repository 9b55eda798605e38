// Package fulltext finds texts by words: an index in memory with the usual ranking (BM25), for languages with spaces between
// words and for Chinese, Japanese and Korean. It starts no goroutines, does no I/O and keeps no texts; an Index is for one
// goroutine at a time.
package fulltext

import (
	"cmp"
	"math"
	"slices"
)

const (
	prefixWeight = 0.5 // of a word that only begins as the query's

	// The usual constants of the BM25 ranking.
	saturation = 1.2
	lengthBias = 0.75
)

type posting struct{ text, times int }

// Index knows which words stand in which text.
type Index struct {
	next     int
	lengths  map[int]int // text -> words in it
	words    int
	postings map[string][]posting // in the order of the texts
}

// New returns an empty index.
func New() *Index { return &Index{lengths: map[int]int{}, postings: map[string][]posting{}} }

// Add takes in a text and returns its number: 0, 1, 2 and so on. A number is never given twice.
func (x *Index) Add(text string) int {
	number := x.next
	x.next++
	times, length := count(text)
	for w, n := range times {
		x.postings[w] = append(x.postings[w], posting{number, n})
	}
	x.lengths[number] = length
	x.words += length
	return number
}

// Remove takes out a text that was added under that number.
func (x *Index) Remove(number int, text string) {
	if _, ok := x.lengths[number]; !ok {
		return
	}
	times, _ := count(text)
	for w := range times {
		at, found := slices.BinarySearchFunc(x.postings[w], number, func(p posting, n int) int { return cmp.Compare(p.text, n) })
		if !found {
			continue
		}
		if x.postings[w] = slices.Delete(x.postings[w], at, at+1); len(x.postings[w]) == 0 {
			delete(x.postings, w)
		}
	}
	x.words -= x.lengths[number]
	delete(x.lengths, number)
}

func count(text string) (times map[string]int, length int) {
	times = map[string]int{}
	for _, w := range Words(text) {
		times[w]++
		length++
	}
	return times, length
}

// Scores returns what the texts that hold a word of the query count, the better the more.
func (x *Index) Scores(query string) map[int]float64 {
	scores := map[int]float64{}
	for _, q := range Distinct(Words(query)) {
		x.score(scores, x.postings[q], 1)
		for _, w := range x.alike(q) {
			x.score(scores, x.postings[w], prefixWeight)
		}
	}
	return scores
}

// alike returns the other words of the index that a word of a query may mean, in order: sums of floating-point numbers
// depend on it.
func (x *Index) alike(query string) (found []string) {
	for w := range x.postings {
		if w != query && matches(query, w) {
			found = append(found, w)
		}
	}
	slices.Sort(found)
	return found
}

// score adds what one word counts in the texts that hold it: the more, the rarer it is.
func (x *Index) score(scores map[int]float64, found []posting, weight float64) {
	n, in := float64(len(x.lengths)), float64(len(found))
	rarity := math.Log(1 + (n-in+0.5)/(in+0.5))
	average := float64(x.words) / max(n, 1)
	for _, p := range found {
		t := float64(p.times)
		length := 1 - lengthBias + lengthBias*float64(x.lengths[p.text])/max(average, 1)
		scores[p.text] += weight * rarity * t * (saturation + 1) / (t + saturation*length)
	}
}
