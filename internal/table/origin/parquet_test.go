package origin_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	metadata "github.com/parquet-go/parquet-go/format"

	"fedpvi/internal/table/origin"
)

// The file must be refused. Otherwise a program would take a part of the table for the whole table.
func TestParquetWithTooFewValues(t *testing.T) {
	type row struct {
		Count int64 `parquet:"count"`
	}
	whole := parquetFile(t, []row{{1}, {2}})
	for _, more := range []int64{0, 1, 1 << 40} {
		all, _, err := rows(t, origin.Source{From: file(t, "records.parquet", withMetadata(t, whole, func(m *metadata.FileMetaData) {
			m.NumRows += more
			m.RowGroups[0].NumRows += more
		}))})
		switch {
		case more == 0 && (err != nil || len(all) != 3): // the header and two rows
			t.Errorf("the file as it was written: %d rows, %v", len(all)-1, err)
		case more > 0 && (err == nil || !strings.Contains(err.Error(), "damaged")):
			t.Errorf("%d rows more than values: %d rows, %v", more, len(all)-1, err)
		}
	}
}

// The smallest int32 cannot be negated in 32 bits. If a program did so, it would read a zero from
// this damaged file.
func TestParquetWithExtremeScale(t *testing.T) {
	type row struct {
		Count int64 `parquet:"count,decimal(2:18)"`
	}
	whole := parquetFile(t, []row{{15}})
	for _, c := range []struct {
		scale int32
		want  string
	}{{2, "0.15"}, {-3, "15000"}, {math.MinInt32, "15e2147483648"}} {
		all, _, err := rows(t, origin.Source{From: file(t, "records.parquet", withMetadata(t, whole, func(m *metadata.FileMetaData) {
			m.Schema[1].LogicalType.Value.(*metadata.DecimalType).Scale = c.scale
		}))})
		if err != nil || len(all) != 2 || all[1][0] != c.want {
			t.Errorf("scale %d: %q, %v, want %s", c.scale, all, err, c.want)
		}
	}
}

func parquetFile[T any](t *testing.T, all []T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	_, err := w.Write(all)
	check(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

func withMetadata(t *testing.T, whole []byte, change func(m *metadata.FileMetaData)) []byte {
	t.Helper()
	const tail = 8 // size of the end of the file: the length of the metadata, and the mark of the format
	mark := len(whole) - tail
	from := mark - int(binary.LittleEndian.Uint32(whole[mark:]))
	var meta metadata.FileMetaData
	protocol := new(thrift.CompactProtocol)
	check(t, thrift.Unmarshal(protocol, whole[from:mark], &meta))
	change(&meta)
	footer, err := thrift.Marshal(protocol, meta)
	check(t, err)
	changed := append(bytes.Clone(whole[:from]), footer...)
	return append(binary.LittleEndian.AppendUint32(changed, uint32(len(footer))), whole[len(whole)-4:]...)
}
