package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"go.etcd.io/bbolt"
)

// ErrDamaged means that a database file is damaged.
var ErrDamaged = errors.New("the database file is damaged")

// Guard runs f, which reads or writes a database. If a damaged page makes bbolt panic, or if f
// reads beyond the end of a truncated file, Guard returns ErrDamaged. It passes on other panics.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if !ofTheFile(r) {
				panic(r)
			}
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return f()
}

// ofTheFile reports whether the panic r came from bbolt, or from reading mapped memory beyond the
// end of the file.
func ofTheFile(r any) bool {
	if _, fault := r.(interface{ Addr() uintptr }); fault {
		return true
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicked := false; ; {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(frame.Function, "runtime."):
			return strings.HasPrefix(frame.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

// check checks a database that was just opened. It first visits all pages and checks their lengths
// and page numbers. Then it calls bbolt's own function Check, which trusts these numbers. If they
// were damaged, Check could loop for ever, use up all memory, or end the program by reading outside
// the file in a goroutine.
//
// The layout of pages is defined in go.etcd.io/bbolt v1.5.0, in internal/common/page.go, inode.go,
// bucket.go and meta.go. Numbers are in the machine's byte order.
func check(db *bbolt.DB, file io.ReaderAt) error {
	return db.View(func(tx *bbolt.Tx) error {
		c := checker{file: file, pageSize: int64(db.Info().PageSize)}
		c.used = make([]bool, tx.Size()/c.pageSize)
		if err := c.tree(uint64(tx.Cursor().Bucket().Root()), true); err != nil {
			return err
		}
		if err := c.others(tx); err != nil {
			return err
		}
		var err error
		for problem := range tx.Check() { // read the channel to the end, so that Check's goroutine ends
			if err == nil {
				err = fmt.Errorf("%w: %w", ErrDamaged, problem)
			}
		}
		return err
	})
}

// A checker visits the pages of a database file and checks them.
type checker struct {
	file     io.ReaderAt
	pageSize int64
	used     []bool // whether a page has been visited, by page number
}

const (
	headSize    = 16 // page number, kind, number of elements, number of overflow pages
	elementSize = 16
	idSize      = 8 // size of a page number
	// bucketSize is the size of a bucket header in bytes. The header begins with the page number of
	// the bucket's root. If the number is 0, the content of the root page follows directly.
	bucketSize = 16

	branchPage, leafPage = 1, 2
)

func damaged(page uint64, format string, a ...any) error {
	return fmt.Errorf("%w: page %d: %s", ErrDamaged, page, fmt.Sprintf(format, a...))
}

// tree checks a page and all pages below it, and marks them as used. top tells whether the page
// belongs to the top-level tree, which has only buckets.
func (c *checker) tree(page uint64, top bool) error {
	if page < 2 || page >= uint64(len(c.used)) {
		return damaged(page, "there is no such page")
	}
	head := make([]byte, headSize)
	if _, err := c.file.ReadAt(head, int64(page)*c.pageSize); err != nil {
		return damaged(page, "%v", err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if id := binary.NativeEndian.Uint64(head); id != page || more >= uint64(len(c.used))-page {
		return damaged(page, "its number is %d, and %d more pages belong to it", id, more)
	}
	for i := range more + 1 {
		if c.used[page+i] {
			return damaged(page+i, "it is used twice")
		}
		c.used[page+i] = true
	}
	b := make([]byte, int64(more+1)*c.pageSize)
	if _, err := c.file.ReadAt(b, int64(page)*c.pageSize); err != nil {
		return damaged(page, "%v", err)
	}
	return c.elements(page, b, top)
}

// elements checks the elements of a page and the pages to which they point. b is the content of the
// page.
func (c *checker) elements(page uint64, b []byte, top bool) error {
	kind, count := binary.NativeEndian.Uint16(b[8:]), int(binary.NativeEndian.Uint16(b[10:]))
	if kind != branchPage && kind != leafPage || headSize+count*elementSize > len(b) || kind == branchPage && count == 0 {
		return damaged(page, "it is of kind %#x and has %d elements", kind, count)
	}
	for i := range count {
		at := headSize + i*elementSize
		word := func(off int) uint32 { return binary.NativeEndian.Uint32(b[at+off:]) }
		if kind == branchPage {
			if int64(at)+int64(word(0))+int64(word(4)) > int64(len(b)) {
				return damaged(page, "the key of its element %d is outside of it", i)
			}
			if err := c.tree(binary.NativeEndian.Uint64(b[at+8:]), top); err != nil {
				return err
			}
			continue
		}
		flags, key := word(0), int64(at)+int64(word(4))
		value := key + int64(word(8))
		end := value + int64(word(12))
		if flags > 1 || top && flags == 0 || end > int64(len(b)) {
			return damaged(page, "its element %d is of kind %#x and ends at byte %d", i, flags, end)
		}
		if flags == 1 {
			if err := c.bucket(page, b[value:end]); err != nil {
				return err
			}
		}
	}
	return nil
}

// bucket checks a bucket on a page. b is the bucket's value in the database.
func (c *checker) bucket(page uint64, b []byte) error {
	if len(b) < bucketSize {
		return damaged(page, "a bucket in it has %d bytes", len(b))
	}
	if root := binary.NativeEndian.Uint64(b); root != 0 {
		return c.tree(root, false)
	}
	if b = b[bucketSize:]; len(b) < headSize || binary.NativeEndian.Uint16(b[8:]) != leafPage {
		return damaged(page, "a bucket in it has no page")
	}
	return c.elements(page, b, false)
}

// others checks the pages that belong to no tree: each must be free, or list free pages.
func (c *checker) others(tx *bbolt.Tx) error {
	for id := 2; id < len(c.used); id++ {
		if c.used[id] {
			continue
		}
		p, err := tx.Page(id)
		if err != nil {
			return err
		}
		switch {
		case p.Type == "free":
		case p.Type == "freelist" && p.OverflowCount < len(c.used)-id:
			id += p.OverflowCount
		default:
			return damaged(uint64(id), "no page refers to it, and it is not free")
		}
	}
	return nil
}
