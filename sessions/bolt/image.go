package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt trusts its file: on a damaged one it panics, reads outside of what is mapped, or goes in circles until the stack
// overflows. So the file is looked at here, page by page and without trust, before bbolt opens it, and what can be
// saved is read here. The layout is that of bbolt's file format 2, on a little-endian machine:
//
//	page     id 8, flags 2, count 2, overflow 4; then count elements, then what they point to; overflow more pages follow
//	meta     magic 4, version 4, page size 4, flags 4, root page 8, sequence 8, freelist page 8, end 8, txid 8, FNV-1a 8
//	leaf     flags 4 (1 = bucket), offset 4 from the element, key size 4, value size 4
//	branch   offset 4, key size 4, page 8
//	bucket   a value: root page 8, sequence 8; if the root is 0, its only page follows
//	freelist page ids of 8 bytes; if count is 65535, the first one is the count
const (
	magic       = 0xED0CDAED
	fileVersion = 2

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketFlag   = 0x01

	headerSize  = 16
	elementSize = 16
	metaSize    = 64
	noFreelist  = ^uint64(0)
)

var (
	errNoMeta  = errors.New("neither of its two beginnings can be read")
	errForeign = errors.New("it is not one of ours")
)

// image is a file as it was found.
type image struct {
	file     io.ReaderAt
	size     int64
	pageSize int64
	metas    []meta // the valid ones, the newest first
}

// meta is one of the two beginnings of a file. They are written in turn, so the other one leads to the state before.
type meta struct {
	pageSize             uint32
	root, freelist, end  uint64
	txid                 uint64
	hasMagic, isComplete bool
}

// readImage finds the beginnings of a file.
func readImage(file io.ReaderAt, size int64) (*image, error) {
	i := &image{file: file, size: size}
	foreign := true
	for at := int64(0); at <= 64<<10; at = max(1024, 2*at) { // the second page, whatever the page size
		m := i.readMeta(at)
		foreign = foreign && !m.hasMagic
		if !m.isComplete || (at > 0 && int64(m.pageSize) != at) {
			continue
		}
		i.pageSize = int64(m.pageSize)
		i.metas = append(i.metas, m)
	}
	switch {
	case foreign:
		return nil, errForeign
	case len(i.metas) == 0 || size < 2*i.pageSize:
		return nil, errNoMeta
	}
	if len(i.metas) > 1 && i.metas[1].txid > i.metas[0].txid {
		i.metas[0], i.metas[1] = i.metas[1], i.metas[0]
	}
	i.metas = i.metas[:min(2, len(i.metas))]
	return i, nil
}

func (i *image) readMeta(at int64) (m meta) {
	b := make([]byte, headerSize+metaSize)
	if _, err := i.file.ReadAt(b, at); err != nil {
		return m
	}
	b = b[headerSize:]
	le := binary.LittleEndian
	m = meta{
		pageSize: le.Uint32(b[8:]), root: le.Uint64(b[16:]), freelist: le.Uint64(b[32:]), end: le.Uint64(b[40:]),
		txid: le.Uint64(b[48:]), hasMagic: le.Uint32(b) == magic,
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b[:56]) // never fails
	m.isComplete = m.hasMagic && le.Uint32(b[4:]) == fileVersion && sum.Sum64() == le.Uint64(b[56:]) &&
		m.pageSize >= 1024 && m.pageSize <= 64<<10 && m.pageSize&(m.pageSize-1) == 0
	return m
}

// page is one page with those that it overflows into.
type page struct {
	flags uint16
	count int
	data  []byte // header included
}

// readPage reads a page of a state, and checks what it says of itself.
func (i *image) readPage(m meta, id uint64) (p page, err error) {
	if id < 2 || id >= m.end || int64(id+1) > i.size/i.pageSize {
		return p, fmt.Errorf("page %d does not exist", id)
	}
	head := make([]byte, headerSize)
	if _, err := i.file.ReadAt(head, int64(id)*i.pageSize); err != nil {
		return p, fmt.Errorf("page %d: %w", id, err)
	}
	pages := 1 + uint64(binary.LittleEndian.Uint32(head[12:]))
	if own := binary.LittleEndian.Uint64(head); own != id {
		return p, fmt.Errorf("page %d says that it is page %d", id, own)
	}
	if id+pages > m.end || int64(id+pages) > i.size/i.pageSize {
		return p, fmt.Errorf("page %d goes on behind the end of the file", id)
	}
	data := make([]byte, int64(pages)*i.pageSize)
	if _, err := i.file.ReadAt(data, int64(id)*i.pageSize); err != nil {
		return p, fmt.Errorf("page %d: %w", id, err)
	}
	if p, err = parsePage(data); err != nil {
		return p, fmt.Errorf("page %d: %w", id, err)
	}
	return p, nil
}

func parsePage(data []byte) (p page, err error) {
	if len(data) < headerSize {
		return p, errors.New("it is too short")
	}
	p = page{
		flags: binary.LittleEndian.Uint16(data[8:]), count: int(binary.LittleEndian.Uint16(data[10:])), data: data,
	}
	if (p.flags == leafPage || p.flags == branchPage) && headerSize+p.count*elementSize > len(data) {
		return p, fmt.Errorf("it cannot have %d entries", p.count)
	}
	return p, nil
}

// element is an entry of a leaf, or of a branch, where page is where it leads to.
type element struct {
	bucket     bool
	key, value []byte
	page       uint64
}

// element returns the n-th entry of a leaf or a branch.
func (p page) element(n int) (e element, err error) {
	at := headerSize + n*elementSize
	le := binary.LittleEndian
	b := p.data[at:]
	var offset, keySize, valueSize uint64
	if p.flags == leafPage {
		e.bucket = le.Uint32(b)&bucketFlag != 0
		offset, keySize, valueSize = uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	} else {
		offset, keySize, e.page = uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint64(b[8:])
	}
	start := uint64(at) + offset
	if start+keySize+valueSize > uint64(len(p.data)) {
		return e, fmt.Errorf("entry %d does not fit in", n)
	}
	e.key = p.data[start : start+keySize]
	e.value = p.data[start+keySize : start+keySize+valueSize]
	return e, nil
}

// walker goes through the trees of one state.
type walker struct {
	*image
	meta
	visited map[uint64]bool // where pages begin that were read
	reached map[uint64]bool // these, and what they overflow into
	damaged func(error)     // what is told of a part that cannot be read; the rest is gone through all the same
}

func (i *image) walker(m meta, damaged func(error)) *walker {
	return &walker{image: i, meta: m, visited: map[uint64]bool{}, reached: map[uint64]bool{}, damaged: damaged}
}

// tree calls visit for all entries below a page, in their order.
func (w *walker) tree(id uint64, visit func(element)) {
	if w.visited[id] {
		w.damaged(fmt.Errorf("page %d is used twice", id))
		return
	}
	w.visited[id] = true
	p, err := w.readPage(w.meta, id)
	if err != nil {
		w.damaged(err)
		return
	}
	for n := range uint64(len(p.data)) / uint64(w.image.pageSize) {
		if w.reached[id+n] { // all the same it is read: how long a page is may be what is damaged
			w.damaged(fmt.Errorf("page %d is a part of two", id+n))
		}
		w.reached[id+n] = true
	}
	w.page(fmt.Sprintf("page %d", id), p, visit)
}

func (w *walker) page(name string, p page, visit func(element)) {
	if p.flags != leafPage && p.flags != branchPage {
		w.damaged(fmt.Errorf("%s is of the kind %#x", name, p.flags))
		return
	}
	var last []byte
	for n := range p.count {
		e, err := p.element(n)
		if err == nil && n > 0 && bytes.Compare(e.key, last) <= 0 {
			err = fmt.Errorf("entry %d is out of order", n)
		}
		switch {
		case err != nil:
			w.damaged(fmt.Errorf("%s: %w", name, err))
			continue
		case p.flags == branchPage:
			w.tree(e.page, visit)
		default:
			visit(e)
		}
		last = e.key
	}
}

// buckets calls visit for all buckets.
func (w *walker) buckets(visit func(name string, sequence uint64, entries func(visit func(element)))) {
	w.tree(w.root, func(e element) {
		if !e.bucket || len(e.value) < 16 {
			w.damaged(fmt.Errorf("%q is not a bucket", e.key))
			return
		}
		root, sequence := binary.LittleEndian.Uint64(e.value), binary.LittleEndian.Uint64(e.value[8:])
		visit(string(e.key), sequence, func(visit func(element)) {
			if root != 0 {
				w.tree(root, visit)
				return
			}
			p, err := parsePage(e.value[16:])
			if err != nil || p.flags != leafPage {
				w.damaged(fmt.Errorf("bucket %s cannot be read", e.key))
				return
			}
			w.page("bucket "+string(e.key), p, visit)
		})
	})
}

// free returns the pages that are free.
func (w *walker) free() (map[uint64]bool, error) {
	if w.freelist == noFreelist {
		return nil, errors.New("the list of free pages is missing")
	}
	p, err := w.readPage(w.meta, w.freelist)
	if err != nil {
		return nil, fmt.Errorf("list of free pages: %w", err)
	}
	if p.flags != freelistPage {
		return nil, fmt.Errorf("list of free pages: page %d is of the kind %#x", w.freelist, p.flags)
	}
	count, ids := uint64(p.count), p.data[headerSize:]
	if count == 0xFFFF {
		count, ids = binary.LittleEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return nil, fmt.Errorf("list of free pages: it cannot have %d entries", count)
	}
	free := make(map[uint64]bool, count)
	for n := range count {
		id := binary.LittleEndian.Uint64(ids[8*n:])
		if id < 2 || id >= w.end || free[id] {
			return nil, fmt.Errorf("list of free pages: page %d stands in it", id)
		}
		free[id] = true
	}
	return free, nil
}
