package pages_test

import (
	"errors"
	"strings"
	"testing"

	"fedpvi/internal/pages"
	"fedpvi/internal/testing/memory"
)

// A planted damage is one in one place.
type planted struct {
	what string
	do   func(f *image)
	want string
}

// Damage in any field from which bbolt would follow is found, with its page, before it takes any memory.
func TestDamageIsFound(t *testing.T) {
	for _, pageSize := range []int{1 << 10, 4 << 10, 16 << 10} {
		f := readImage(t, filled(t, pageSize))
		check(t, f.check())
		for _, d := range f.damages(t) {
			changed := f.clone()
			d.do(changed)
			var err error
			memory.Within(t, memory.Room, func() { err = changed.check() })
			if found := new(pages.Damage); !errors.As(err, &found) || !strings.Contains(err.Error(), d.want) {
				t.Errorf("pages of %d, %s: %v, want %q", pageSize, d.what, err, d.want)
			}
		}
	}
}

// damages are those of a file of [filled].
func (f *image) damages(t *testing.T) []planted {
	m := f.meta()
	top := f.page(m.root()) // few, long, many
	if top.count() != 3 {
		t.Fatalf("the first leaf has %d elements", top.count())
	}
	value := func(i int) int { // where it begins
		at := headSize + 16*i
		return at + int(top.word(at+4)) + int(top.word(at+8))
	}
	long, many := top.number(value(1)), top.number(value(2))
	if f.page(many).half(8) != 1 || f.page(long).word(12) != 3 {
		t.Fatalf("not the trees that are looked for: %d, %d", f.page(many).half(8), f.page(long).word(12))
	}
	first := f.page(many).number(headSize + 8)
	free := m.freelist()
	if f.page(free).count() < 3 {
		t.Fatalf("%d pages are free", f.page(free).count())
	}
	all := []planted{
		{"no meta", func(f *image) { clear(f.bytes[headSize:][:64]); clear(f.bytes[f.pageSize+headSize:][:64]) }, "neither it nor page 1"},
		{"cut", func(f *image) { f.bytes = f.bytes[:int64(m.pages()-1)*f.pageSize] }, "pages are in use"},
		{"cut to one page", func(f *image) { f.bytes = f.bytes[:f.pageSize] }, ""},
		{"cut to a word", func(f *image) { f.bytes = f.bytes[:4] }, ""},
	}
	inMeta := func(what string, at int, to uint64, want string) {
		all = append(all, planted{"meta: " + what, func(f *image) {
			f.meta().setNumber(at, to)
			f.meta().sign()
		}, want})
	}
	inMeta("no root", 16, 0, "points to page 0")
	inMeta("root a meta", 16, 1, "points to page 1")
	inMeta("root beyond the file", 16, 1<<40, "points to page")
	inMeta("root the free list", 16, free, "used twice")
	inMeta("root a free page", 16, f.page(free).number(headSize), "")
	inMeta("free list beyond the file", 32, m.pages(), "points to page")
	inMeta("free list a leaf", 32, m.root(), "should be the list of free pages")
	inMeta("fewer pages", 40, 3, "pages are in use")
	inMeta("more pages than the file has", 40, uint64(len(f.bytes))/uint64(f.pageSize)+1, "pages are in use")
	inMeta("pages without end", 40, 1<<62, "pages are in use")
	for _, size := range []uint32{0, 1, 1000, 3 << 10, 1 << 31, uint32(f.pageSize) * 2} {
		all = append(all, planted{"meta: another size of pages", func(f *image) {
			for page := range uint64(2) {
				m := metaPart{f.page(page).from(headSize)}
				m.setWord(8, size)
				m.sign()
			}
		}, ""})
	}
	for name, page := range map[string]uint64{"root": m.root(), "branch": many, "leaf": first, "long leaf": long, "free list": free} {
		head := f.page(page)
		for what, do := range map[string]func(p part){
			"number":           func(p part) { p.setNumber(0, page+1) },
			"number, of many":  func(p part) { p.setNumber(0, page|1<<40) },
			"no kind":          func(p part) { p.setHalf(8, 0) },
			"kind of a meta":   func(p part) { p.setHalf(8, 4) },
			"unknown kind":     func(p part) { p.setHalf(8, 0x20) },
			"two kinds":        func(p part) { p.setHalf(8, head.half(8)|0x8) },
			"another kind":     func(p part) { p.setHalf(8, head.half(8)^3) },
			"one less":         func(p part) { p.setHalf(10, head.half(10)-1) },
			"one more":         func(p part) { p.setHalf(10, head.half(10)+1) },
			"many":             func(p part) { p.setHalf(10, 0xFFFE) },
			"most":             func(p part) { p.setHalf(10, 0xFFFF) },
			"another page":     func(p part) { p.setWord(12, head.word(12)+1) },
			"pages of the end": func(p part) { p.setWord(12, uint32(m.pages()-page)) },
			"all pages":        func(p part) { p.setWord(12, 1<<32-1) },
		} {
			all = append(all, planted{name + ": " + what, func(f *image) { do(f.page(page)) }, ""})
		}
	}
	all = append(all, f.inElements(m.root(), many, first, long)...)
	all = append(all, f.inBuckets(m.root(), value, many, long)...)
	return append(all, f.inList(free, m)...)
}

// inElements are damages of what pages list.
func (f *image) inElements(root, many, first, long uint64) (all []planted) {
	in := func(what string, page uint64, do func(p part), want string) {
		all = append(all, planted{what, func(f *image) { do(f.page(page)) }, want})
	}
	for name, page := range map[string]uint64{"root": root, "leaf": first, "long leaf": long} {
		last := headSize + 16*(f.page(page).count()-1)
		in(name+": kind of a value", page, func(p part) { p.setWord(headSize, 2) }, "is of kind 0x2")
		in(name+": place of a key", page, func(p part) { p.setWord(last+4, p.word(last+4)+1) }, "element")
		in(name+": place far away", page, func(p part) { p.setWord(last+4, 1<<31) }, "element")
		in(name+": place in the head", page, func(p part) { p.setWord(headSize+4, 0) }, "element 0")
		in(name+": no key", page, func(p part) { p.setWord(last+8, 0) }, "element")
		in(name+": longer key", page, func(p part) { p.setWord(headSize+8, p.word(headSize+8)+uint32(f.pageSize)) }, "")
		in(name+": key without end", page, func(p part) { p.setWord(last+8, 1<<32-1) }, "element")
		in(name+": value without end", page, func(p part) { p.setWord(last+12, 1<<32-1) }, "element")
		in(name+": value beyond its pages", page, func(p part) { p.setWord(last+12, p.word(last+12)+uint32(f.pageSize)) }, "")
	}
	in("long leaf: value in fewer pages", long, func(p part) { p.setWord(headSize+12, 1) }, "bytes in 4 pages")
	in("leaf: order of keys", first, func(p part) {
		at := headSize + 16*3
		p.bytes[at+int(p.word(at+4))] = '~'
	}, "out of order")
	in("leaf: the same key again", first, func(p part) {
		at := func(i int) []byte { return p.bytes[headSize+16*i+int(p.word(headSize+16*i+4)):][:5] }
		copy(at(4), at(3))
	}, "out of order")
	in("leaf: before its own pages", first, func(p part) { p.bytes[headSize+int(p.word(headSize+4))] = 0 }, "out of order")
	in("branch: order of keys", many, func(p part) { p.bytes[headSize+16+int(p.word(headSize+16))] = 0 }, "out of order")
	in("branch: a key behind those of its page", many, func(p part) { p.bytes[headSize+int(p.word(headSize))] = '~' }, "out of order")
	in("branch: place of a key", many, func(p part) { p.setWord(headSize, 1<<30) }, "element 0")
	in("branch: no key", many, func(p part) { p.setWord(headSize+4, 0) }, "element 0")
	in("branch: key without end", many, func(p part) { p.setWord(headSize+4, 1<<31) }, "element 0")
	in("branch: page of a meta", many, func(p part) { p.setNumber(headSize+8, 0) }, "points to page 0")
	in("branch: page beyond the file", many, func(p part) { p.setNumber(headSize+8, 1<<63) }, "points to page")
	in("branch: page of another element", many, func(p part) { p.setNumber(headSize+8, p.number(headSize+24)) }, "")
	in("branch: itself", many, func(p part) { p.setNumber(headSize+8, many) }, "used twice")
	in("branch: the root", many, func(p part) { p.setNumber(headSize+8, root) }, "used twice")
	return all
}

// inBuckets are damages of buckets, of which the first is in a value.
func (f *image) inBuckets(root uint64, value func(int) int, many, long uint64) (all []planted) {
	in := func(what string, do func(p part), want string) {
		all = append(all, planted{"bucket: " + what, func(f *image) { do(f.page(root)) }, want})
	}
	inner := value(0) + 16 // the page in the value
	in("its tree a meta", func(p part) { p.setNumber(value(1), 1) }, "points to page 1")
	in("its tree beyond the file", func(p part) { p.setNumber(value(1), 1<<50) }, "points to page")
	in("its tree another's", func(p part) { p.setNumber(value(1), many) }, "used twice")
	in("a page of its tree", func(p part) { p.setNumber(value(2), f.page(many).number(headSize+8)) }, "nothing leads to it")
	in("in a value, which is short", func(p part) { p.setNumber(value(1), 0) }, "a bucket in it has 16 bytes")
	in("no value", func(p part) { p.setWord(headSize+16*2+12, 15) }, "a bucket in it has 15 bytes")
	in("elsewhere, while it is in its value", func(p part) { p.setNumber(value(0), long) }, "")
	in("number in a value", func(p part) { p.setNumber(inner, 7) }, "says that it is page 7")
	in("kind in a value", func(p part) { p.setHalf(inner+8, 1) }, "of kind 0x1")
	in("fewer in a value", func(p part) { p.setHalf(inner+10, 1) }, "")
	in("more in a value", func(p part) { p.setHalf(inner+10, 3) }, "")
	in("most in a value", func(p part) { p.setHalf(inner+10, 0xFFFF) }, "elements")
	in("pages more in a value", func(p part) { p.setWord(inner+12, 1) }, "and 1 more")
	in("a bucket in a bucket in a value", func(p part) { p.setWord(inner+headSize, 1) }, "is of kind 0x1")
	in("place in a value", func(p part) { p.setWord(inner+headSize+4, 0) }, "element 0")
	in("key in a value", func(p part) { p.setWord(inner+headSize+8, 1<<31) }, "element 0")
	in("value in a value", func(p part) { p.setWord(inner+headSize+16+12, 1<<31) }, "element 1")
	in("shorter in a value", func(p part) { p.setWord(inner+headSize+16+12, 0) }, "a bucket in it has")
	in("order in a value", func(p part) { p.bytes[inner+headSize+32] = '~' }, "out of order")
	return all
}

// inList are damages of the list of free pages.
func (f *image) inList(free uint64, m metaPart) (all []planted) {
	in := func(what string, do func(p part), want string) {
		all = append(all, planted{"free list: " + what, func(f *image) { do(f.page(free)) }, want})
	}
	in("a page that is used", func(p part) { p.setNumber(headSize, m.root()) }, "")
	in("itself", func(p part) { p.setNumber(headSize, free) }, "")
	in("a meta", func(p part) { p.setNumber(headSize, 1) }, "follows page 1")
	in("a page beyond the file", func(p part) { p.setNumber(headSize+8*(p.count()-1), m.pages()) }, "follows page")
	in("a page twice", func(p part) { p.setNumber(headSize+8, p.number(headSize)) }, "follows page")
	in("out of order", func(p part) {
		a, b := p.number(headSize), p.number(headSize+8)
		p.setNumber(headSize, b)
		p.setNumber(headSize+8, a)
	}, "follows page")
	in("one more than there are", func(p part) { p.setHalf(10, p.half(10)+1) }, "page 0 follows")
	return all
}
