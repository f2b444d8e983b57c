package pages_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/internal/pages"
)

const headSize = 16

// An image is a file in memory, of which a test knows where things are.
type image struct {
	bytes    []byte
	pageSize int64
}

func readImage(t testing.TB, path string) *image {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	f := &image{bytes: b}
	f.pageSize = int64(binary.NativeEndian.Uint32(b[24:]))
	return f
}

func (f *image) clone() *image { return &image{bytes.Clone(f.bytes), f.pageSize} }

func (f *image) check() error {
	return pages.Check(bytes.NewReader(f.bytes), int64(len(f.bytes)), os.Getpagesize())
}

// A part is some of an image.
type part struct{ bytes []byte }

func (f *image) page(n uint64) part        { return part{f.bytes[int64(n)*f.pageSize:]} }
func (p part) from(at int) part            { return part{p.bytes[at:]} }
func (p part) number(at int) uint64        { return binary.NativeEndian.Uint64(p.bytes[at:]) }
func (p part) word(at int) uint32          { return binary.NativeEndian.Uint32(p.bytes[at:]) }
func (p part) half(at int) uint16          { return binary.NativeEndian.Uint16(p.bytes[at:]) }
func (p part) count() int                  { return int(p.half(10)) }
func (p part) setNumber(at int, to uint64) { binary.NativeEndian.PutUint64(p.bytes[at:], to) }
func (p part) setWord(at int, to uint32)   { binary.NativeEndian.PutUint32(p.bytes[at:], to) }
func (p part) setHalf(at int, to uint16)   { binary.NativeEndian.PutUint16(p.bytes[at:], to) }

// A metaPart is what points to the other pages: bbolt's, as the tests know it.
type metaPart struct{ part }

// meta is the one that counts, where both are whole.
func (f *image) meta() metaPart {
	a, b := metaPart{f.page(0).from(headSize)}, metaPart{f.page(1).from(headSize)}
	if b.number(48) > a.number(48) {
		return b
	}
	return a
}

func (m metaPart) root() uint64     { return m.number(16) }
func (m metaPart) freelist() uint64 { return m.number(32) }
func (m metaPart) pages() uint64    { return m.number(40) }

// sign makes a meta's checksum right again.
func (m metaPart) sign() {
	sum := fnv.New64a()
	sum.Write(m.bytes[:56])
	m.setNumber(56, sum.Sum64())
}

// filled returns the path of a file with pages of every kind: a bucket of many pages, one in a value, a value of several pages, and
// free pages.
func filled(t testing.TB, pageSize int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db := openDB(t, path, pageSize)
	for step := range 3 {
		check(t, db.Update(func(tx *bbolt.Tx) error {
			many, err := tx.CreateBucketIfNotExists([]byte("many"))
			check(t, err)
			for i := range 3 * pageSize / 60 {
				check(t, many.Put(fmt.Appendf(nil, "%05d", i), bytes.Repeat([]byte("v"), 30+step)))
			}
			few, err := tx.CreateBucketIfNotExists([]byte("few"))
			check(t, err)
			check(t, few.Put([]byte("one"), []byte("1")))
			check(t, few.Put([]byte("two"), []byte("2")))
			long, err := tx.CreateBucketIfNotExists([]byte("long"))
			check(t, err)
			return long.Put([]byte("key"), make([]byte, 3*pageSize))
		}))
	}
	check(t, db.Close())
	return path
}
