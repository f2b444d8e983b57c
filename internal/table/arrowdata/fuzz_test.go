package arrowdata_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"fedpvi/internal/table"
	"fedpvi/internal/table/arrowdata"
)

var wanted = []table.Wanted{{Name: "n"}, {Name: "t"}, {Name: "d", Date: true}}

// maxRows is the number of rows after which count stops, because damaged data can claim to have any
// number.
const maxRows = 1000

// count reads Arrow data and returns the number of rows, or −1 if use was not called.
func count(t *testing.T, data io.Reader, size int) (rows int, err error) {
	rows = -1
	err = arrowdata.Read(t.Context(), data, int64(size), wanted, func(r table.Reader) error {
		for rows = 0; rows < maxRows; rows++ {
			cells, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if len(cells) != len(r.Columns()) {
				t.Fatalf("row %d has %d cells, and there are %d columns", rows, len(cells), len(r.Columns()))
			}
		}
		return nil
	})
	return rows, err
}

// sample returns two rows, as an Arrow file and as an Arrow stream.
func sample(f testing.TB, o ...ipc.Option) (file, stream []byte) {
	texts := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "t", Type: texts},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{1.5, 0}, []bool{true, false})
	for _, text := range []string{"a", "b"} {
		if err := b.Field(1).(*array.BinaryDictionaryBuilder).AppendString(text); err != nil {
			f.Fatal(err)
		}
	}
	b.Field(2).(*array.Date32Builder).AppendValues([]arrow.Date32{0, -1}, nil)
	rows := b.NewRecordBatch()
	write := func(w interface {
		Write(rec arrow.RecordBatch) error
		Close() error
	}, err error,
	) {
		if err := errors.Join(err, w.Write(rows), w.Close()); err != nil {
			f.Fatal(err)
		}
	}
	var whole, parts bytes.Buffer
	o = append(o, ipc.WithSchema(schema))
	write(ipc.NewFileWriter(&whole, o...))
	write(ipc.NewWriter(&parts, o...), nil)
	return whole.Bytes(), parts.Bytes()
}

// A file must end in a mark. Otherwise a part of a file, cut after a batch, would be taken for the
// whole.
func TestCutBetweenBatches(t *testing.T) {
	mark := []byte("\xff\xff\xff\xff\x00\x00\x00\x00")
	file, stream := sample(t)
	for _, c := range []struct {
		data []byte
		fits bool
	}{{file, true}, {file[:bytes.LastIndex(file, mark)], false}, {stream, true}, {stream[:bytes.LastIndex(stream, mark)], true}} {
		rows, err := count(t, bytes.NewReader(c.data), len(c.data))
		if (err == nil) != c.fits || rows != 2 {
			t.Errorf("%d bytes: %d rows, want 2: %v", len(c.data), rows, err)
		}
	}
}

// A small stream can claim any number of rows for a column without values. A study may fill in a
// value in each of these rows, which takes memory.
func TestRowsWithoutValues(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.Null, Nullable: true}}, nil)
	for _, c := range []struct {
		rows int
		fits bool
	}{{0, true}, {3, true}, {1 << 30, false}, {1 << 62, false}} {
		var b bytes.Buffer
		w := ipc.NewWriter(&b, ipc.WithSchema(schema))
		rows := array.NewRecordBatch(schema, []arrow.Array{array.NewNull(c.rows)}, int64(c.rows))
		if err := errors.Join(w.Write(rows), w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := count(t, &b, b.Len()); (err == nil) != c.fits {
			t.Errorf("%d rows in %d bytes: %v", c.rows, b.Len(), err)
		}
	}
}

// Whatever the bytes of Arrow data are, reading must end in an error or give rows with all columns.
func FuzzRead(f *testing.F) {
	for _, o := range [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}} {
		file, stream := sample(f, o...)
		f.Add(file)
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if rows, err := count(t, bytes.NewReader(b), len(b)); err == nil && rows < 0 {
			t.Error("neither rows nor an error")
		}
	})
}

// Columns of views, also in a dictionary, have a varying number of buffers.
func TestViews(t *testing.T) {
	long := "a text that is longer than twelve bytes"
	b := array.NewStringViewBuilder(memory.DefaultAllocator)
	b.AppendValues([]string{long, "short"}, nil)
	texts := b.NewArray()
	i := array.NewInt32Builder(memory.DefaultAllocator)
	i.AppendValues([]int32{1, 0}, nil)
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.StringView}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: kind}, {Name: "text", Type: arrow.BinaryTypes.StringView}}, nil)
	rows := array.NewRecordBatch(schema, []arrow.Array{array.NewDictionaryArray(kind, i.NewArray(), texts), texts}, 2)
	var data bytes.Buffer
	w := ipc.NewWriter(&data, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(rows), w.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := count(t, &data, data.Len()); n != 2 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}
