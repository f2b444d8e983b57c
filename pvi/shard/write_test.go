package shard_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// sameAfterWriting fails the test unless Read returns the same records that Write has written.
func sameAfterWriting(t *testing.T, st *study.Study, records *shard.Records) {
	t.Helper()
	var file bytes.Buffer
	check(t, shard.Write(&file, st, records))
	again, report, err := shard.Read("w.csv", bytes.NewReader(file.Bytes()), st)
	if err != nil {
		t.Fatalf("%v in\n%s", err, file.String())
	}
	if n := len(report.Dropped) + len(report.Clamped) + len(report.Imputed); again.Len() != records.Len() || n > 0 {
		t.Fatalf("%d of %d records came back, %+v", again.Len(), records.Len(), report)
	}
	for i := range records.Len() {
		if diff := cmp.Diff(records.Row(i), again.Row(i)); diff != "" {
			t.Errorf("record %d (-written +read):\n%s", i, diff)
		}
	}
}

func TestWrite(t *testing.T) {
	const rows = "m;60;II;7\nf;1e5;I;0x1p-2\nm;0.1;III;7.000000000000001\n"
	for name, edits := range map[string][]string{
		"header":    nil,
		"no header": {"[table]", "[table]\nheader = false"},
	} {
		t.Run(name, func(t *testing.T) {
			st := parse(t, edits...)
			file := rows
			if st.Table.Header {
				file = "sex;age;stage;y\n" + rows
			}
			records, _ := read(t, st, file)
			sameAfterWriting(t, st, records)
		})
	}
}

// For some numbers, such as 60, the shortest text stands for a missing value.
func TestWriteWhatLooksMissing(t *testing.T) {
	st := parsed(t, source)
	st.Table.Missing = []string{"7", "60"}
	records := new(shard.Records)
	records.Append([]float64{1, 60, 0, 7})
	sameAfterWriting(t, st, records)
}

func TestWriteQuotes(t *testing.T) {
	st := parsed(t, strings.ReplaceAll(source, `"III"`, `"I;\"I\""`))
	records := new(shard.Records)
	records.Append([]float64{1, 60, 2, 7})
	sameAfterWriting(t, st, records)
}
