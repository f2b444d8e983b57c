package durable

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"
)

// checkFreeList checks the length of the list of free pages in an existing file. bbolt trusts this
// length when it opens a file for writing, and if it is wrong, bbolt could use up all memory.
// checkFreeList opens the file for reading, because bbolt then ignores the list.
func checkFreeList(path string, o bbolt.Options) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	var file *os.File
	open := o.OpenFile
	o.OpenFile = func(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = open(path, flag, mode)
		return file, err
	}
	o.ReadOnly, o.PreLoadFreelist = true, false
	db, err := bbolt.Open(path, 0, &o)
	if err != nil {
		return err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		pageSize := int64(db.Info().PageSize)
		return freeList(file, pageSize, uint64(tx.Size()/pageSize))
	})
	return errors.Join(err, db.Close())
}

// freeList checks the list of free pages in a file that has the given number of pages.
func freeList(file io.ReaderAt, pageSize int64, pages uint64) error {
	page, err := pageOfList(file, pageSize)
	if err != nil {
		return err
	}
	if page < 2 || page >= pages {
		return damaged(page, "there is no such page for the list of free pages")
	}
	head := make([]byte, headSize+idSize)
	if _, err := file.ReadAt(head, int64(page)*pageSize); err != nil {
		return damaged(page, "%v", err)
	}
	more, count, from := uint64(binary.NativeEndian.Uint32(head[12:])), uint64(binary.NativeEndian.Uint16(head[10:])), uint64(headSize)
	if count == 0xffff { // the number of free pages comes after the head
		count, from = binary.NativeEndian.Uint64(head[headSize:]), headSize+idSize
	}
	if more >= pages-page || count > pages || from+count*idSize > (more+1)*uint64(pageSize) {
		return damaged(page, "it lists %d free pages, and %d more pages belong to it", count, more)
	}
	return nil
}

// pageOfList returns the first page of the list of free pages. The newer of the two meta pages
// gives it; a meta page counts only if its checksum is right.
func pageOfList(file io.ReaderAt, pageSize int64) (page uint64, err error) {
	const list, number, checksum, size = 32, 48, 56, 64 // offsets after the head of a meta page, and the size of a meta page
	err = damaged(0, "no meta page has a valid checksum")
	var newest uint64
	for i := range int64(2) {
		b := make([]byte, size)
		if _, err := file.ReadAt(b, i*pageSize+headSize); err != nil {
			return 0, damaged(uint64(i), "%v", err)
		}
		sum := fnv.New64a()
		sum.Write(b[:checksum])
		word := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
		if word(checksum) == sum.Sum64() && (err != nil || word(number) > newest) {
			page, newest, err = word(list), word(number), nil
		}
	}
	return page, err
}
