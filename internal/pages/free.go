package pages

const (
	idSize = 8
	// many is the count of a list that is too long for its head: its first number is the count.
	many = 0xFFFF
)

// free checks the list of free pages, and marks them.
func (c *checker) free(m meta) error {
	if m.freelist == noFreelist {
		return nil
	}
	h, err := c.head(m.freelist, m.page)
	if err != nil {
		return err
	}
	if h.kind != freelist {
		return damage(h.page, "it should be the list of free pages, and is of kind %#x", h.kind)
	}
	at, end, count := h.base+headSize, h.base+h.limit, uint64(h.count)
	if count == many {
		if count, err = c.id(at); err != nil {
			return err
		}
		if at += idSize; count < many {
			return damage(h.page, "its list has %d free pages, which is too short to stand where it does", count)
		}
	}
	if room := uint64(end-at) / idSize; count > room {
		return damage(h.page, "its list has %d free pages, and there is room for %d", count, room)
	}
	for last := uint64(1); count > 0; count-- {
		id, err := c.id(at)
		switch {
		case err != nil:
			return err
		case id <= last || id >= c.pages:
			return damage(h.page, "page %d follows page %d in its list, and the pages of the file are 2 to %d", id, last, c.pages-1)
		case !c.use(id):
			return damage(id, "it is used, and in the list of free pages")
		}
		last = id
		at += idSize
	}
	return nil
}

// lost returns an error if a page is neither used nor in the list: then a page that led to it is not what it was.
func (c *checker) lost(m meta) error {
	for page := range c.pages {
		if m.freelist != noFreelist && c.used[page/64]>>(page%64)&1 == 0 {
			return damage(page, "nothing leads to it, and it is not in the list of free pages")
		}
	}
	return nil
}

func (c *checker) id(at int64) (uint64, error) {
	b, err := c.tables.at(at, idSize)
	if err != nil {
		return 0, err
	}
	return number(b), nil
}
