package arrowdata

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
)

// fileMagic has the first bytes of an Arrow file, before the messages of a stream.
const fileMagic = "ARROW1\x00\x00"

// messages reads an Arrow stream, or an Arrow file after its first bytes, message by message. It
// checks the sizes in each message, because package ipc trusts them.
type messages struct {
	from io.Reader
	mem  memory.Allocator
	most int64 // maximum size in bytes of a message's description and of its body
	file bool  // a file must have a mark after the last message
	views
}

// views has the numbers of columns of views: strings that are stored in a varying number of buffers.
type views struct {
	rows         int           // columns of a batch of rows
	dictionaries map[int64]int // columns of a dictionary, by its number
}

var errMessage = errors.New("a message is damaged")

// Retain and Release do nothing, because the garbage collector frees the messages.
func (m *messages) Retain()  {}
func (m *messages) Release() {}

// Message returns the next message, or io.EOF after the last one.
func (m *messages) Message() (*ipc.Message, error) {
	size, err := m.size()
	if err != nil {
		return nil, err
	}
	description := make([]byte, size)
	if _, err := io.ReadFull(m.from, description); err != nil {
		return nil, errMessage
	}
	length, ok := examine(description, &m.views)
	if !ok || length < 0 || length > m.most {
		return nil, errMessage
	}
	body := memory.NewResizableBuffer(m.mem)
	body.Resize(int(length))
	if _, err := io.ReadFull(m.from, body.Bytes()); err != nil {
		return nil, errMessage
	}
	return ipc.NewMessage(memory.NewBufferBytes(description), body), nil
}

// size returns the size of the description of the next message, or io.EOF if there is none.
func (m *messages) size() (int32, error) {
	const begins = -1 // a message begins with this number, except in data from Arrow before version 0.15
	var size int32
	err := binary.Read(m.from, binary.LittleEndian, &size)
	if errors.Is(err, io.EOF) && !m.file {
		return 0, io.EOF
	}
	if err == nil && size == begins {
		err = binary.Read(m.from, binary.LittleEndian, &size)
	}
	switch {
	case err != nil, size < 0, int64(size) > m.most:
		return 0, errMessage
	case size == 0:
		return 0, io.EOF
	}
	return size, nil
}

// examine checks the description of a message and returns the length of its body. ok is false if
// the description claims to have more parts than fit into it, because the decoder would allocate
// memory for all of them. The description is a FlatBuffer with the tables of Message.fbs, a file in
// Arrow's documentation. examine panics if a part is outside the description. A message with the
// columns sets v, with which later messages are checked.
func examine(description []byte, v *views) (body int64, ok bool) {
	c := &checker{left: shared * len(description), views: v}
	message := flatbuffers.Table{Bytes: description, Pos: flatbuffers.GetUOffsetT(description)}
	header := map[byte]func(flatbuffers.Table){1: c.schema, 2: c.dictionary, 3: c.rowsOf}[valueOf(message, 1)]
	if header == nil {
		return 0, false
	}
	c.table(message, 2, header)
	c.tables(message, 4, c.keyValue)
	if o := field(message, 3); o != 0 {
		body = message.GetInt64(message.Pos + o)
	}
	return body, c.left >= 0
}

const (
	shared   = 4  // a description is invalid if its parts are more than this many times as large as itself
	maxDepth = 64 // maximum depth of nested tables
)

// A checker adds up the sizes of a description's parts.
type checker struct {
	left  int // number of bytes left for further parts; if it is negative, the description is refused
	depth int
	views *views
}

func (c *checker) schema(t flatbuffers.Table) {
	*c.views = views{dictionaries: map[int64]int{}}
	c.tables(t, 1, c.column)
	c.tables(t, 2, c.keyValue)
	c.vector(t, 3, 8)
}

func (c *checker) column(t flatbuffers.Table) {
	const timestamp, union, binaryView, textView = 10, 14, 23, 24
	c.vector(t, 0, 1)
	before := c.views.rows
	switch valueOf(t, 2) {
	case binaryView, textView:
		c.views.rows++
	case timestamp:
		c.table(t, 3, func(zone flatbuffers.Table) { c.vector(zone, 1, 1) })
	case union:
		c.table(t, 3, func(union flatbuffers.Table) { c.vector(union, 1, 4) })
	}
	c.tables(t, 5, c.column)
	c.tables(t, 6, c.keyValue)
	c.table(t, 4, func(dictionary flatbuffers.Table) { // a batch of rows has only indices into the dictionary
		c.views.dictionaries[numberOf(dictionary)] = c.views.rows - before
		c.views.rows = before
	})
}

func (c *checker) rowsOf(t flatbuffers.Table) { c.batch(t, c.views.rows) }

func (c *checker) dictionary(t flatbuffers.Table) {
	c.table(t, 1, func(values flatbuffers.Table) { c.batch(values, c.views.dictionaries[numberOf(t)]) })
}

// batch checks a batch with the given number of columns of views. For each of them the batch states
// a number of buffers. The decoder does not check whether the batch has this number.
func (c *checker) batch(t flatbuffers.Table, columns int) {
	c.vector(t, 1, 16)
	buffers := int64(c.vector(t, 2, 16))
	counts := c.vector(t, 4, 8)
	if counts < columns {
		c.left = -1
	}
	for i := range counts {
		n := t.GetInt64(t.Vector(field(t, 4)) + 8*flatbuffers.UOffsetT(i))
		if buffers -= n; n < 0 || buffers < 0 {
			c.left = -1
			return
		}
	}
}

func (c *checker) keyValue(t flatbuffers.Table) {
	c.vector(t, 0, 1)
	c.vector(t, 1, 1)
}

// vector subtracts the size of the vector or string in a field from c.left. It returns the number
// of elements, or 0 if the field is missing or the description is refused.
func (c *checker) vector(t flatbuffers.Table, number, size int) int {
	o := field(t, number)
	if o == 0 {
		return 0
	}
	n := t.VectorLen(o)
	if c.left -= 4 + n*size; c.left < 0 {
		return 0
	}
	return n
}

// tables counts the vector of tables in a field and calls check for each table.
func (c *checker) tables(t flatbuffers.Table, number int, check func(flatbuffers.Table)) {
	for i := range c.vector(t, number, 4) {
		start := t.Vector(field(t, number))
		c.enter(flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start + 4*flatbuffers.UOffsetT(i))}, check)
	}
}

// table counts the table in a field and calls check for it.
func (c *checker) table(t flatbuffers.Table, number int, check func(flatbuffers.Table)) {
	if o := field(t, number); o != 0 {
		c.enter(flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + o)}, check)
	}
}

func (c *checker) enter(t flatbuffers.Table, check func(flatbuffers.Table)) {
	if c.depth++; c.depth > maxDepth {
		c.left = -1
	}
	if c.left -= 4; c.left >= 0 {
		check(t)
	}
	c.depth--
}

// field returns the offset of a field in a table, or 0 if the table lacks it.
func field(t flatbuffers.Table, number int) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*number)))
}

// numberOf returns the number of a dictionary, which is in the first field of a table.
func numberOf(t flatbuffers.Table) int64 {
	if o := field(t, 0); o != 0 {
		return t.GetInt64(t.Pos + o)
	}
	return 0
}

// valueOf returns the byte in a field of a table, or 0 if the table lacks it.
func valueOf(t flatbuffers.Table, number int) byte {
	if o := field(t, number); o != 0 {
		return t.GetByte(t.Pos + o)
	}
	return 0
}
