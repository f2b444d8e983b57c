package transport

import (
	"google.golang.org/grpc/mem"
)

// A Stored is the body of an item on disk, which is read while it is sent.
type Stored interface {
	Size() uint64
	Hash() Hash // SHA-256
	// Read fills b with the body's bytes from an offset. It may be called concurrently.
	Read(b []byte, from int64) error
}

// A storedFrame is a frame whose piece is in a buffer that is reused after sending.
type storedFrame struct {
	head  []byte
	piece mem.Buffer
}

// sendStored is sendEntry for an item on disk.
func sendStored(stream followStream, c *call, item Item, number, offset uint64, brief bool) error {
	body := item.Stored
	size := body.Size()
	if offset > size {
		return beyond(number, offset, size)
	}
	brief = brief && offset == 0 && item.Derived
	start, err := startOf(number, item.Envelope, size, body.Hash(), offset, brief)
	if err != nil {
		return err
	}
	if offset == size || brief {
		return stream.SendMsg(frame{head: start})
	}
	pool := mem.DefaultBufferPool()
	for head := start; offset < size; head = nil {
		n := int(min(size-offset, uint64(max(entryMessage-len(head), 1))))
		b := pool.Get(n)
		if err := body.Read(*b, int64(offset)); err != nil {
			pool.Put(b)
			return err
		}
		if err := stream.SendMsg(storedFrame{withPiece(head, n), mem.NewBuffer(b, pool)}); err != nil {
			return err
		}
		c.watch.moved()
		offset += uint64(n)
	}
	return nil
}
