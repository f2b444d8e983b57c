package origin_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	metadata "github.com/parquet-go/parquet-go/format"

	"fedpvi/internal/table/origin"
)

// Otherwise a program would take a part of the table for the whole table.
func TestParquetWithTooFewValues(t *testing.T) {
	type row struct {
		Count int64 `parquet:"count"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{1}, {2}}); err != nil {
		t.Fatal(err)
	}
	check(t, w.Close())
	const tail = 8 // size of the last part of the file: the length of the metadata, and the mark of the format
	whole := b.Bytes()
	mark := len(whole) - tail
	from := mark - int(binary.LittleEndian.Uint32(whole[mark:]))
	for _, more := range []int64{0, 1, 1 << 40} {
		var meta metadata.FileMetaData
		protocol := new(thrift.CompactProtocol)
		err := thrift.Unmarshal(protocol, whole[from:mark], &meta)
		meta.NumRows += more
		meta.RowGroups[0].NumRows += more
		footer, e := thrift.Marshal(protocol, meta)
		check(t, errors.Join(err, e))
		changed := append(bytes.Clone(whole[:from]), footer...)
		changed = append(binary.LittleEndian.AppendUint32(changed, uint32(len(footer))), whole[len(whole)-4:]...)
		all, _, err := rows(t, origin.Source{From: file(t, "records.parquet", changed)})
		switch {
		case more == 0 && (err != nil || len(all) != 3): // the header and two rows
			t.Errorf("the file as it was written: %d rows, %v", len(all)-1, err)
		case more > 0 && (err == nil || !strings.Contains(err.Error(), "damaged")):
			t.Errorf("%d rows more than values: %d rows, %v", more, len(all)-1, err)
		}
	}
}
