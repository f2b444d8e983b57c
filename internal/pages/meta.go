package pages

import (
	"fmt"
	"hash/fnv"
)

// What is in the first two pages, behind their heads, which bbolt does not read.
const (
	magic    = 0xED0CDAED
	version  = 2
	metaSize = 64

	noFreelist = 1<<64 - 1 // the free pages are those that nothing uses

	// pageMin and pageMax are the sizes of pages, powers of two, with which bbolt finds its second page. It reads metaRead bytes to look for one.
	pageMin  = 1 << 10
	pageMax  = 16 << 20
	metaRead = 4 << 10
)

// A meta points to all other pages.
type meta struct {
	page     uint64
	pageSize uint32
	root     uint64
	freelist uint64
	pages    uint64
	written  uint64 // by which transaction
}

// parseMeta reads a meta, or says why it is none: then it was torn, or is not there.
func parseMeta(page uint64, b []byte) (meta, error) {
	m := meta{page: page, pageSize: word(b[8:]), root: number(b[16:]), freelist: number(b[32:]), pages: number(b[40:]), written: number(b[48:])}
	sum := fnv.New64a()
	sum.Write(b[:56]) //nolint:errcheck // never fails
	switch {
	case word(b) != magic:
		return m, fmt.Errorf("it does not begin a database")
	case word(b[4:]) != version:
		return m, fmt.Errorf("its layout is %d, and %d is known", word(b[4:]), version)
	case number(b[56:]) != sum.Sum64():
		return m, fmt.Errorf("its checksum is wrong")
	}
	return m, nil
}

// chooseMeta returns the meta that bbolt takes, and learns the size of pages: of the first two pages
// that which was written last, unless it was torn.
func (c *checker) chooseMeta(usual int) (meta, error) {
	c.pageSize = int64(usual)
	if size, err := c.findPageSize(); err != nil {
		return meta{}, err
	} else if size != 0 {
		c.pageSize = size
	}
	if p := c.pageSize; p < pageMin || p > pageMax || p&(p-1) != 0 {
		return meta{}, damage(0, "its pages are of %d bytes, where a power of two from %d to %d is known", p, pageMin, pageMax)
	}
	if c.size < 2*c.pageSize {
		return meta{}, damage(0, "the file has %d bytes, and its first two pages take %d", c.size, 2*c.pageSize)
	}
	var (
		best meta
		none [2]error
	)
	for page := range uint64(2) {
		m, err := c.metaAt(page, int64(page)*c.pageSize)
		if err != nil {
			return meta{}, err
		}
		if none[page] = m.none; m.none == nil && (none[0] != nil || page == 0 || m.written > best.written) {
			best = m.meta
		}
	}
	if none[0] != nil && none[1] != nil {
		return meta{}, damage(0, "neither it nor page 1 points to the others: %v; %v", none[0], none[1])
	}
	return best, c.within(best)
}

// within checks that what a meta points to can be there.
func (c *checker) within(m meta) error {
	switch {
	case int64(m.pageSize) != c.pageSize:
		return damage(m.page, "its pages are of %d bytes, and those of the file of %d", m.pageSize, c.pageSize)
	case m.pages < 4 || m.pages > uint64(c.size/c.pageSize):
		return damage(m.page, "it says that %d pages are in use, and the file has %d", m.pages, c.size/c.pageSize)
	}
	return nil
}

// A read meta is one, or is none for a reason.
type readMeta struct {
	meta
	none error
}

// metaAt reads the meta of a page that begins at an offset.
func (c *checker) metaAt(page uint64, off int64) (readMeta, error) {
	b, err := c.tables.at(off+headSize, metaSize)
	if err != nil {
		return readMeta{}, err
	}
	m, none := parseMeta(page, b)
	return readMeta{m, none}, nil
}

// findPageSize returns the size of pages that the first meta says or, if that is torn, the second, wherever it can be.
// It is zero if neither is there.
func (c *checker) findPageSize() (int64, error) {
	if c.size >= metaRead {
		m, err := c.metaAt(0, 0)
		if err != nil || m.none == nil {
			return int64(m.pageSize), err
		}
	}
	for at := int64(pageMin); at <= pageMax && at < c.size-pageMin; at *= 2 {
		m, err := c.metaAt(1, at)
		if err != nil || m.none == nil {
			return int64(m.pageSize), err
		}
	}
	return 0, nil
}
