// Package pages looks through the file of a bbolt database before bbolt believes what it says.
//
// bbolt checks the two pages that point to all others, and believes what those say: a count, a size or a number of
// pages that was damaged lets it ask for gigabytes, free pages for minutes, or read where nothing is. What is
// checked here is what it would follow from the first page that it takes: that every page is what it should be,
// within the file and used once, and that keys and values are within their page, in order, and one behind the other,
// as bbolt writes them. What it would not read is not looked at: a free page, or the other of the first two,
// may be torn. Values are their owners' to check.
//
// A file is read with positioned reads of a few kilobytes, some for each page in use. What is kept is a bit for each page, two
// keys, a number for each page from a root down to a leaf, and one for each bucket still to be read.
//
// The layout is that of go.etcd.io/bbolt v1.5.0: internal/common/page.go, meta.go, bucket.go and inode.go for what is in a page, node.go for
// which page follows which, db.go (getPageSize, meta) for which of the first two counts, and internal/freelist/shared.go. Numbers are
// in the machine's order.
package pages

import (
	"fmt"
	"io"
)

// A Damage is what is wrong with a file, and in which page.
type Damage struct {
	Page    uint64
	Problem string
}

func (d *Damage) Error() string { return fmt.Sprintf("page %d of the file: %s", d.Page, d.Problem) }

func damage(page uint64, format string, a ...any) error {
	return &Damage{Page: page, Problem: fmt.Sprintf(format, a...)}
}

// Check looks through a file of a number of bytes. It fails with a [*Damage] if bbolt should not open it, and with another
// error if it cannot be read. Nobody writes to it meanwhile. usual is the size of a page, in bytes, that bbolt
// would be told; the file's own counts, if it says one.
func Check(file io.ReaderAt, size int64, usual int) error {
	c := checker{tables: window{file: file, size: size}, keys: window{file: file, size: size}, size: size}
	m, err := c.chooseMeta(usual)
	if err != nil {
		return err
	}
	c.used = make([]uint64, (m.pages+63)/64)
	c.pages = m.pages
	c.use(0)
	c.use(1)
	if err := c.free(m); err != nil {
		return err
	}
	c.roots = append(c.roots, bucket{m.page, m.root})
	for len(c.roots) > 0 {
		b := c.roots[len(c.roots)-1]
		c.roots = c.roots[:len(c.roots)-1]
		if err := c.tree(b); err != nil {
			return err
		}
	}
	return c.lost(m)
}

// A checker goes through one file.
type checker struct {
	tables, keys window // heads and what they list; what is there
	size         int64  // of the file
	pageSize     int64
	pages        uint64   // that are or were in use: all others have higher numbers
	used         []uint64 // a bit for each of them
	roots        []bucket // of trees still to be read
	top          bool     // the tree that is being read is that of a meta: there are buckets in it and nothing else
	order, inner order    // of the tree that is being read, and of a bucket in one of its values
}

// A bucket is named in a page, and its tree begins at another one.
type bucket struct{ in, root uint64 }

// use marks a page, and reports whether nothing else has it.
func (c *checker) use(page uint64) bool {
	word, bit := &c.used[page/64], uint64(1)<<(page%64)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

// The kinds of pages.
const (
	branch   = 0x01
	leaf     = 0x02
	freelist = 0x10
)

const headSize = 16

// A head is the beginning of a page: its number, of 8 bytes, its kind and the count of what it lists, of 2
// each, and how many pages that follow belong to it, of 4.
type head struct {
	page  uint64
	base  int64 // where it is in the file
	kind  uint16
	count int64
	limit int64 // how many bytes are its own, those of the pages that follow with them
}

// head reads that of a page which another one names, and marks all that is the page's.
func (c *checker) head(page, from uint64) (h head, err error) {
	if page < 2 || page >= c.pages {
		return h, damage(from, "it points to page %d, and the pages of the file are 2 to %d", page, c.pages-1)
	}
	h = head{page: page, base: int64(page) * c.pageSize}
	b, err := c.tables.at(h.base, headSize)
	if err != nil {
		return h, err
	}
	if id := number(b); id != page {
		return h, damage(page, "it says that it is page %d", id)
	}
	h.kind, h.count = uint16(half(b[8:])), int64(half(b[10:]))
	more := uint64(word(b[12:]))
	if more >= c.pages-page {
		return h, damage(page, "it says that %d pages more are its own, and the last of the file is %d", more, c.pages-1)
	}
	for i := range more + 1 {
		if !c.use(page + i) {
			return h, damage(page+i, "it is used twice, the second time by page %d", from)
		}
	}
	h.limit = int64(more+1) * c.pageSize
	return h, nil
}
