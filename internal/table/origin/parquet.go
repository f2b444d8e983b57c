package origin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"fedpvi/internal/calendar"
	"fedpvi/internal/table"
)

func isParquet(start []byte) bool { return bytes.HasPrefix(start, []byte("PAR1")) }

var errParquet = errors.New("this Parquet file ends early, is damaged, or is of a kind that cannot be read: " + table.Again)

// damaged returns the error for an unreadable Parquet file. It leaves out the error of the Parquet
// package, which may contain bytes of the file. This error can also be io.EOF, when a column has
// fewer values than the file claims. The file would then seem to have ended.
func damaged(err error) error {
	var reading *os.PathError
	if errors.As(err, &reading) {
		return reading
	}
	return errParquet
}

// parquet reads the wanted columns of a Parquet file: it passes a reader of the rows to use.
func (s Source) parquet(ctx context.Context, f *os.File, size int64, wanted []table.Wanted, use func(table.Reader) error) error {
	file, err := parquet.OpenFile(f, size)
	if err != nil {
		return damaged(err)
	}
	rows := &parquetReader{ctx: ctx, show: s.Progress, all: file.NumRows(), groups: file.RowGroups()}
	for _, field := range file.Root().Columns() {
		at := slices.IndexFunc(wanted, func(w table.Wanted) bool { return w.Name == field.Name() })
		if at < 0 {
			continue
		}
		c, err := newColumn(field, wanted[at].Date)
		if err != nil {
			return err
		}
		rows.columns = append(rows.columns, c)
		rows.names = append(rows.names, field.Name())
	}
	rows.cells = make([]table.Cell, len(rows.columns))
	return errors.Join(use(rows), rows.close())
}

// parquetReader reads the rows of a Parquet file.
type parquetReader struct {
	ctx     context.Context
	show    func(read, all int64)
	names   []string
	columns []*column
	groups  []parquet.RowGroup // groups of rows that have not been read yet
	left    int64              // number of rows in the current group that have not been read yet
	read    int64
	all     int64
	cells   []table.Cell
}

func (p *parquetReader) Columns() []string { return p.names }

func (p *parquetReader) Unit() string { return "row" }

func (p *parquetReader) Row() int { return int(p.read) }

func (p *parquetReader) Next() ([]table.Cell, error) {
	for p.left == 0 {
		if len(p.groups) == 0 {
			return nil, io.EOF
		}
		if err := p.close(); err != nil {
			return nil, err
		}
		chunks := p.groups[0].ColumnChunks()
		for _, c := range p.columns {
			c.pages = chunks[c.index].Pages()
		}
		p.left, p.groups = p.groups[0].NumRows(), p.groups[1:]
	}
	if p.read%batch == 0 {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		if p.show != nil {
			p.show(p.read, p.all)
		}
	}
	for i, c := range p.columns {
		v, err := c.next()
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", p.names[i], damaged(err))
		}
		if p.cells[i] = (table.Cell{Kind: table.Missing}); !v.IsNull() {
			p.cells[i] = c.decode(v)
		}
	}
	p.left--
	p.read++
	return p.cells, nil
}

// close closes the columns of the current row group.
func (p *parquetReader) close() error {
	var all error
	for _, c := range p.columns {
		all = errors.Join(all, c.close())
	}
	return all
}

// batch is the number of values that a column decodes at a time.
const batch = 1024

// column decodes the values of one column of a Parquet file.
type column struct {
	index  int
	decode func(parquet.Value) table.Cell // decodes a value that is not null
	pages  parquet.Pages                  // pages of the current row group; nil before the first group
	page   parquet.ValueReader            // values of the current page; nil before the first page
	values []parquet.Value                // decoded values that have not been returned yet
	buffer [batch]parquet.Value
	texts  map[string]string // one copy of each string
}

// maxTexts is the maximum number of different strings that a column keeps, so that rows with the
// same string can share it.
const maxTexts = 1 << 12

func newColumn(field *parquet.Column, date bool) (*column, error) {
	if !field.Leaf() || field.Repeated() {
		return nil, fmt.Errorf("column %s: its values are lists or structures: write a column of numbers or text", field.Name())
	}
	c := &column{index: field.Index(), texts: map[string]string{}}
	if date {
		if c.decode = c.day(field.Type()); c.decode == nil {
			return nil, table.NoDates(field.Name(), field.Type().String())
		}
	} else if c.decode = c.decoder(field.Type()); c.decode == nil {
		return nil, table.Unreadable(field.Name(), field.Type().String())
	}
	return c, nil
}

// day returns a function that decodes a column's values as days or as text. It returns nil if the
// type t is neither a date, a time nor text.
func (c *column) day(t parquet.Type) func(parquet.Value) table.Cell {
	logical := t.LogicalType()
	if logical == nil {
		logical = &format.LogicalType{}
	}
	switch of := logical.Value.(type) {
	case nil, *format.StringType:
		if t.Kind() == parquet.ByteArray {
			return c.decoder(t)
		}
	case *format.DateType:
		return c.decoder(t)
	case *format.TimestampType:
		perSecond := int64(1e9)
		switch of.Unit.Value.(type) {
		case *format.MilliSeconds:
			perSecond = 1e3
		case *format.MicroSeconds:
			perSecond = 1e6
		}
		return func(v parquet.Value) table.Cell {
			return table.Cell{Text: calendar.Containing(v.Int64(), perSecond).String()}
		}
	}
	return nil
}

// decoder returns a function that decodes values of a type, or nil if the type cannot be read.
func (c *column) decoder(t parquet.Type) func(parquet.Value) table.Cell {
	if logical := t.LogicalType(); logical != nil {
		switch of := logical.Value.(type) {
		case *format.DecimalType:
			if t.Kind() != parquet.Int32 && t.Kind() != parquet.Int64 {
				return nil
			}
			exponent := -int64(of.Scale) // in a damaged file, the scale can be the smallest int32
			return func(v parquet.Value) table.Cell { return table.Cell{Text: fmt.Sprintf("%de%d", integer(v), exponent)} }
		case *format.DateType:
			return func(v parquet.Value) table.Cell { return table.Cell{Text: calendar.Day(v.Int32()).String()} }
		case *format.IntType:
			if !of.IsSigned {
				return unsigned
			}
		case nil, *format.StringType, *format.EnumType, *format.JsonType:
		default:
			return nil
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(v parquet.Value) table.Cell { return table.Cell{Text: strconv.FormatBool(v.Boolean())} }
	case parquet.Int32, parquet.Int64:
		return func(v parquet.Value) table.Cell { return table.Whole(integer(v)) }
	case parquet.Float:
		return func(v parquet.Value) table.Cell { return table.Cell{Kind: table.Number, Number: float64(v.Float())} }
	case parquet.Double:
		return func(v parquet.Value) table.Cell { return table.Cell{Kind: table.Number, Number: v.Double()} }
	case parquet.ByteArray:
		return func(v parquet.Value) table.Cell { return table.Cell{Text: c.text(v.ByteArray())} }
	}
	return nil
}

func integer(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func unsigned(v parquet.Value) table.Cell {
	x := v.Uint64()
	if v.Kind() == parquet.Int32 {
		x = uint64(v.Uint32())
	}
	if x > math.MaxInt64 {
		return table.Cell{Text: strconv.FormatUint(x, 10)}
	}
	return table.Whole(int64(x))
}

func (c *column) text(b []byte) string {
	if s, ok := c.texts[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(c.texts) < maxTexts {
		c.texts[s] = s
	}
	return s
}

// next returns the next value of the column. The value is valid until the next call.
func (c *column) next() (parquet.Value, error) {
	for len(c.values) == 0 {
		if c.page == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return parquet.Value{}, err
			}
			c.page = page.Values()
		}
		n, err := c.page.ReadValues(c.buffer[:])
		c.values = c.buffer[:n]
		switch {
		case errors.Is(err, io.EOF):
			c.page = nil
		case err != nil:
			return parquet.Value{}, err
		}
	}
	v := c.values[0]
	c.values = c.values[1:]
	return v, nil
}

func (c *column) close() error {
	if c.pages == nil {
		return nil
	}
	err := c.pages.Close()
	c.pages, c.page, c.values = nil, nil, nil
	return err
}
