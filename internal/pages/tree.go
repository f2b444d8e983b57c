package pages

import "bytes"

const (
	elementSize = 16
	keyMax      = 32768 // bbolt's MaxKeySize

	isBucket = 1 // the flag of a value that is a bucket
	// bucketSize is that of a bucket's value: where its tree begins, and a number that counts. If it begins at
	// no page, all of it follows in the value, as a page would be.
	bucketSize = 16
)

// order is that of the keys of a tree, page by page from the left: each is greater than the one before it. A
// branch has the key of a child before the child, whose first key may be the same.
type order struct {
	last []byte
	any  bool
	same bool // the next may be the last again
}

func (o *order) begin() { o.last, o.any = o.last[:0], false }

func (o *order) next(key []byte, ofBranch bool) bool {
	if o.any {
		if c := bytes.Compare(o.last, key); c > 0 || c == 0 && !o.same {
			return false
		}
	}
	o.last, o.any, o.same = append(o.last[:0], key...), true, ofBranch
	return true
}

// A list is the elements of a page, from the first on.
type list struct {
	head
	n   int64 // the next one
	end int64 // where the keys and values of those before it end, from the page's beginning
}

func (h head) list() *list { return &list{head: h, end: headSize + elementSize*h.count} }

// tree checks the pages of a bucket, and notes the buckets in it. It goes from the left to the right, and remembers only
// the pages above the one where it is.
func (c *checker) tree(b bucket) error {
	o := &c.order
	o.begin()
	c.top = b.in < 2
	var path []*list
	down := func(page, from uint64) error {
		h, err := c.head(page, from)
		switch {
		case err != nil:
			return err
		case h.kind == branch && h.count == 0:
			return damage(page, "it should have pages below it, and has none")
		case h.kind == branch:
			path = append(path, h.list())
			return c.fits(h)
		case h.kind == leaf:
			return c.leaf(h, o, true)
		}
		return damage(page, "it should be of a tree, and is of kind %#x", h.kind)
	}
	err := down(b.root, b.in)
	for err == nil && len(path) > 0 {
		l := path[len(path)-1]
		if l.n == l.count {
			path = path[:len(path)-1]
			err = c.filled(l)
			continue
		}
		var child uint64
		if child, err = c.child(l, o); err == nil {
			err = down(child, l.page)
		}
	}
	return err
}

// fits checks that the elements of a page are within it.
func (c *checker) fits(h head) error {
	if room := (h.limit - headSize) / elementSize; h.count > room {
		return damage(h.page, "it has %d elements, and there is room for %d", h.count, room)
	}
	return nil
}

// filled checks that the last value of a page ends in the last of its pages.
func (c *checker) filled(l *list) error {
	if need := (l.end + c.pageSize - 1) / c.pageSize * c.pageSize; need != l.limit {
		return damage(l.page, "it has %d bytes in %d pages", l.end, l.limit/c.pageSize)
	}
	return nil
}

// child reads the next element of a branch: where its key is, how long it is, of 4 bytes each, and
// a page.
func (c *checker) child(l *list, o *order) (uint64, error) {
	b, err := c.tables.at(l.base+headSize+elementSize*l.n, elementSize)
	if err != nil {
		return 0, err
	}
	pos, page := int64(word(b)), number(b[8:])
	return page, c.place(l, o, pos, int64(word(b[4:])), 0, true)
}

// leaf checks the elements of a leaf: what it is, where its key is, how long that and the value behind it are, of 4 bytes each.
// Those of a bucket that is in a value have no buckets in them.
func (c *checker) leaf(h head, o *order, page bool) error {
	if err := c.fits(h); err != nil {
		return err
	}
	l := h.list()
	for l.n < l.count {
		b, err := c.tables.at(l.base+headSize+elementSize*l.n, elementSize)
		if err != nil {
			return err
		}
		flags, size := word(b), int64(word(b[12:]))
		if flags != 0 && (flags != isBucket || !page) || page && c.top && flags == 0 {
			return damage(l.page, "its element %d is of kind %#x", l.n, flags)
		}
		if err := c.place(l, o, int64(word(b[4:])), int64(word(b[8:])), size, false); err != nil {
			return err
		}
		if flags == isBucket {
			if err := c.bucket(l, size); err != nil {
				return err
			}
		}
	}
	if page {
		return c.filled(l)
	}
	if l.end != l.limit {
		return damage(l.page, "a bucket in it has %d bytes and takes %d", l.end, l.limit)
	}
	return nil
}

// place checks that the next element of a page has its key and value behind those of the one before it, and the key its place in the
// order. pos is from where the element is.
func (c *checker) place(l *list, o *order, pos, keySize, size int64, ofBranch bool) error {
	at := headSize + elementSize*l.n + pos
	if at != l.end || keySize < 1 || keySize > keyMax || keySize+size > l.limit-at {
		return damage(l.page, "its element %d has %d and %d bytes at %d, behind %d of %d", l.n, keySize, size, at, l.end, l.limit)
	}
	shown := &c.keys
	if c.tables.has(l.base+at, int(keySize)) {
		shown = &c.tables
	}
	key, err := shown.at(l.base+at, int(keySize))
	if err != nil {
		return err
	}
	if !o.next(key, ofBranch) {
		return damage(l.page, "the key of its element %d is out of order", l.n)
	}
	l.n++
	l.end = at + keySize + size
	return nil
}

// bucket checks the value that was just passed, which is a bucket: its tree is for later, or it is all there.
func (c *checker) bucket(l *list, size int64) error {
	if size < bucketSize {
		return damage(l.page, "a bucket in it has %d bytes", size)
	}
	at := l.base + l.end - size
	b, err := c.keys.at(at, bucketSize)
	if err != nil {
		return err
	}
	if root := number(b); root != 0 {
		if uint64(len(c.roots)) >= c.pages {
			return damage(l.page, "there are more buckets than pages in the file")
		}
		c.roots = append(c.roots, bucket{l.page, root})
		return nil
	}
	if size < bucketSize+headSize {
		return damage(l.page, "a bucket in it has %d bytes", size)
	}
	at += bucketSize
	if b, err = c.keys.at(at, headSize); err != nil {
		return err
	}
	h := head{page: l.page, base: at, kind: half(b[8:]), count: int64(half(b[10:])), limit: size - bucketSize}
	if id, more := number(b), word(b[12:]); id != 0 || h.kind != leaf || more != 0 {
		return damage(l.page, "a bucket in it says that it is page %d of kind %#x and %d more", id, h.kind, more)
	}
	c.inner.begin()
	return c.leaf(h, &c.inner, false)
}
