// Package arrowdata reads Arrow files and Arrow streams. The client registers it with package
// origin. The simulator does without it, because it takes 25 seconds of CPU time to compile.
package arrowdata

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"fedpvi/internal/calendar"
	"fedpvi/internal/guard"
	"fedpvi/internal/table"
)

// maxBatch is the maximum size in bytes of a batch of rows, and of one uncompressed column in it.
// Without a limit, a damaged file could claim any size.
const maxBatch = 1 << 30

// limit returns the maximum size of a batch or a column. size is the size of the data, or 0 if
// unknown. The limit is at least 64 MiB, because a column with few different values can be
// compressed very well.
func limit(size int64) int64 {
	const small, compression = 64 << 20, 256
	if size == 0 || size > maxBatch/compression {
		return maxBatch
	}
	return max(small, compression*size)
}

// bounded is an allocator that panics if more than max bytes are requested.
type bounded struct {
	memory.Allocator
	max int64
}

func (b bounded) Allocate(size int) []byte { return b.Allocator.Allocate(b.checked(size)) }

func (b bounded) Reallocate(size int, old []byte) []byte {
	return b.Allocator.Reallocate(b.checked(size), old)
}

func (b bounded) checked(size int) int {
	if int64(size) > b.max {
		panic(fmt.Sprintf("%d bytes are too many", size))
	}
	return size
}

var errDamaged = errors.New("these Arrow data end early, are damaged, or have a batch of rows that is larger than 1 GiB, or than 64 MiB and 256 times the file: " + table.Again)

// Read reads the wanted columns of an Arrow file or stream: it passes a reader of the rows to use.
// size is the size of the data in bytes, or 0 if unknown. Read fails if the data cannot be read, if
// use fails, or if the decoder panics.
func Read(ctx context.Context, data io.Reader, size int64, wanted []table.Wanted, use func(table.Reader) error) (err error) {
	fault := guard.Run(func() {
		var from *ipc.Reader
		if from, err = open(data, size); err != nil {
			err = errors.Join(ctx.Err(), errDamaged) // an error of package ipc may contain bytes of the file
			return
		}
		rows := &reader{ctx: ctx, from: from}
		if err = rows.find(wanted); err == nil {
			err = use(rows)
		}
	})
	if fault != nil {
		return errDamaged
	}
	return err
}

// open opens an Arrow file or an Arrow stream. A file is a stream between two marks, with an index
// at the end.
func open(data io.Reader, size int64) (*ipc.Reader, error) {
	m := &messages{mem: bounded{memory.DefaultAllocator, limit(size)}, most: maxBatch}
	if size > 0 {
		m.most = min(m.most, size)
	}
	start := make([]byte, len(fileMagic))
	n, err := io.ReadFull(data, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if m.file = string(start) == fileMagic; m.file {
		m.from = data
	} else {
		m.from = io.MultiReader(bytes.NewReader(start[:n]), data)
	}
	return ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.mem))
}

// reader reads the rows of Arrow data, batch by batch.
type reader struct {
	ctx   context.Context
	from  *ipc.Reader
	names []string
	dates []bool // whether a column may only have dates, by column
	at    []int  // index of each column in a batch
	cell  []func(row int) table.Cell
	cells []table.Cell
	row   int
	rows  int
	read  int64
}

// find looks for the wanted columns and checks that their types can be read.
func (a *reader) find(wanted []table.Wanted) error {
	for i, field := range a.from.Schema().Fields() {
		w := slices.IndexFunc(wanted, func(w table.Wanted) bool { return w.Name == field.Name })
		if w < 0 {
			continue
		}
		kind := field.Type
		if d, ok := kind.(*arrow.DictionaryType); ok {
			kind = d.ValueType
		}
		switch {
		case wanted[w].Date && !isDay(kind.ID()):
			return table.NoDates(field.Name, field.Type.String())
		case !wanted[w].Date && !isValue(kind.ID()):
			return table.Unreadable(field.Name, field.Type.String())
		}
		a.names, a.at, a.dates = append(a.names, field.Name), append(a.at, i), append(a.dates, wanted[w].Date)
	}
	a.cells = make([]table.Cell, len(a.names))
	a.cell = make([]func(int) table.Cell, len(a.names))
	return nil
}

// isDay reports whether values of the type can be days.
func isDay(kind arrow.Type) bool {
	switch kind {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP:
		return true
	}
	return false
}

// isValue reports whether values of the type are numbers, text, booleans or dates.
func isValue(kind arrow.Type) bool {
	return kind != arrow.TIMESTAMP && isDay(kind) || kind == arrow.BOOL || kind == arrow.NULL || arrow.IsPrimitive(kind) && (arrow.IsInteger(kind) || arrow.IsFloating(kind)) || kind == arrow.DECIMAL128
}

func (a *reader) Columns() []string { return a.names }

func (a *reader) Unit() string { return "row" }

func (a *reader) Row() int { return int(a.read) }

func (a *reader) Next() ([]table.Cell, error) {
	for a.row == a.rows {
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		b, err := a.from.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, errors.Join(a.ctx.Err(), errDamaged)
		}
		a.row, a.rows = 0, int(b.NumRows())
		if !plausible(b) {
			return nil, errDamaged
		}
		for i, at := range a.at {
			a.cell[i] = cellsOf(b.Column(at))
		}
	}
	for i, cell := range a.cell {
		a.cells[i] = cell(a.row)
	}
	a.row++
	a.read++
	return a.cells, nil
}

// plausible reports whether a batch has enough bytes for as many rows as it claims to have. A value
// takes at least one bit. But columns of the null type take no space, so a batch of up to 65,536
// rows may have no bits at all.
func plausible(b arrow.RecordBatch) bool {
	const empty = 1 << 16 // maximum number of rows in a batch without values
	var size uint64
	for _, column := range b.Columns() {
		size += column.Data().SizeInBytes()
	}
	return uint64(b.NumRows()) <= empty+8*size
}

func cellsOf(values arrow.Array) func(row int) table.Cell {
	decode := decoder(values)
	return func(row int) table.Cell {
		if values.IsNull(row) {
			return table.Cell{Kind: table.Missing}
		}
		return decode(row)
	}
}

func decoder(values arrow.Array) func(row int) table.Cell {
	number := func(x float64) table.Cell { return table.Cell{Kind: table.Number, Number: x} }
	day := func(d calendar.Day) table.Cell { return table.Cell{Text: d.String()} }
	switch v := values.(type) {
	case *array.Dictionary:
		inner := cellsOf(v.Dictionary())
		return func(row int) table.Cell { return inner(v.GetValueIndex(row)) }
	case *array.Float64:
		return func(row int) table.Cell { return number(v.Value(row)) }
	case *array.Float32:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Float16:
		return func(row int) table.Cell { return number(float64(v.Value(row).Float32())) }
	case *array.Int64:
		return func(row int) table.Cell { return table.Whole(v.Value(row)) }
	case *array.Uint64:
		return func(row int) table.Cell {
			if x := v.Value(row); x > math.MaxInt64 {
				return table.Cell{Text: strconv.FormatUint(x, 10)}
			}
			return table.Whole(int64(v.Value(row)))
		}
	case *array.Int32:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Uint32:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Int16:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Uint16:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Int8:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Uint8:
		return func(row int) table.Cell { return number(float64(v.Value(row))) }
	case *array.Decimal128:
		scale := v.DataType().(*arrow.Decimal128Type).Scale
		return func(row int) table.Cell {
			return table.Cell{Text: fmt.Sprintf("%se%d", v.Value(row).BigInt(), -scale)}
		}
	case *array.Boolean:
		return func(row int) table.Cell { return table.Cell{Text: strconv.FormatBool(v.Value(row))} }
	case *array.Date32:
		return func(row int) table.Cell { return day(calendar.Day(v.Value(row))) }
	case *array.Date64:
		return func(row int) table.Cell { return day(calendar.Containing(int64(v.Value(row)), 1e3)) }
	case *array.Timestamp:
		perSecond := int64(1e9) / int64(v.DataType().(*arrow.TimestampType).Unit.Multiplier())
		return func(row int) table.Cell { return day(calendar.Containing(int64(v.Value(row)), perSecond)) }
	case array.StringLike:
		return func(row int) table.Cell { return table.Cell{Text: v.Value(row)} }
	}
	return func(int) table.Cell { return table.Cell{Kind: table.Missing} } // all values in a column of the null type are missing
}
