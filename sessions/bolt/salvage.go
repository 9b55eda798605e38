package bolt

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/talaria-agent/talaria/sessions"
)

// salvage is what was found, as it stands in the file, by bucket and key.
type salvage struct {
	found    map[string]map[string][]byte
	sequence map[string]uint64
	lost     []string
	older    bool // what is being read is not the newest state
}

// salvageFrom reads a damaged file.
func salvageFrom(i *image) *salvage {
	s := &salvage{found: map[string]map[string][]byte{}, sequence: map[string]uint64{}}
	for _, name := range allBuckets {
		s.found[string(name)] = map[string][]byte{}
	}
	var newest *walker
	for n, m := range i.metas {
		s.older = n > 0
		damages := 0
		w := i.walker(m, func(err error) {
			if damages++; n == 0 {
				s.lost = append(s.lost, err.Error())
			}
		})
		s.take(w)
		if n == 0 {
			newest = w
		}
		if damages == 0 {
			break // nothing is missing
		}
	}
	if s.older = false; len(s.lost) > 0 {
		s.strays(newest)
	}
	return s
}

// take takes what the trees of a state lead to, unless a newer state had it.
func (s *salvage) take(w *walker) {
	w.buckets(func(name string, sequence uint64, entries func(func(element))) {
		if s.found[name] == nil {
			return
		}
		s.sequence[name] = max(s.sequence[name], sequence)
		entries(func(e element) {
			if jsonBuckets[name] && !json.Valid(e.value) {
				w.damaged(fmt.Errorf("%s: the entry %q cannot be read", name, e.key))
				return
			}
			s.add(name, e)
		})
	})
}

func (s *salvage) add(name string, e element) {
	if _, ok := s.found[name][string(e.key)]; ok {
		return
	}
	if s.older && name == string(rowsBucket) {
		e.value = mayBeSent(e.value)
	}
	s.found[name][string(e.key)] = bytes.Clone(e.value)
}

// mayBeSent is a row of an older state: what was queued then may be on its way since.
func mayBeSent(data []byte) []byte {
	var r row
	if json.Unmarshal(data, &r) != nil {
		return data
	}
	for i := range r.Parts {
		if r.Parts[i].State == sessions.Queued {
			r.Parts[i].State = sessions.Sending
		}
	}
	if changed, err := json.Marshal(r); err == nil {
		data = changed
	}
	return data
}

// strays takes records, items and rows out of pages to which nothing leads any more, but that are not free either: what
// leads to them is damaged. If the list of free pages is damaged too, they are left alone, since a free page may hold
// what was erased on purpose.
func (s *salvage) strays(w *walker) {
	free, err := w.free()
	if err != nil {
		return
	}
	for id := uint64(2); id < w.end; id++ {
		if w.visited[id] || free[id] {
			continue
		}
		p, err := w.readPage(w.meta, id)
		if err != nil || p.flags != leafPage {
			continue
		}
		for n := range p.count {
			if e, err := p.element(n); err == nil && !e.bucket {
				if name := kindOf(e); name != "" {
					s.add(name, e)
				}
			}
		}
	}
}

// kindOf tells from an entry alone which bucket it belongs to, empty if it is none that is worth saving.
func kindOf(e element) string {
	if len(e.key) > 9 && e.key[len(e.key)-9] == 0 {
		if _, err := sessions.DecodeRecord(e.value, 1); err == nil {
			return string(recordsBucket)
		}
	}
	var r row
	if json.Unmarshal(e.value, &r) == nil && r.ID == sessions.RowID(e.key) && len(r.Parts) > 0 {
		return string(rowsBucket)
	}
	var i sessions.Item
	if len(e.key) == 8 && json.Unmarshal(e.value, &i) == nil && i.ID != "" && i.Key.Validate() == nil {
		return string(itemsBucket)
	}
	return ""
}
