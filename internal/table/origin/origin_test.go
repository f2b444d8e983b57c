package origin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

var (
	format = table.Format{Header: true, Separator: ','}
	wanted = columns("age", "count", "pressure", "dose", "treated", "born", "site")
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// columns returns wanted columns with the given names. The values may have any type.
func columns(names ...string) (all []table.Wanted) {
	for _, name := range names {
		all = append(all, table.Wanted{Name: name})
	}
	return all
}

// rows stops after maxRows rows, because a damaged Parquet file can claim to have any number.
const maxRows = 1000

// rows reads a source. It returns the names of the columns and the rows as strings, and the bytes
// that Read wrote to identify the source.
func rows(t *testing.T, s origin.Source) (all [][]string, named []byte, err error) {
	t.Helper()
	var name bytes.Buffer
	err = s.Read(t.Context(), format, wanted, &name, func(r table.Reader) error {
		all = append(all, append([]string(nil), r.Columns()...))
		for {
			cells, err := r.Next()
			if errors.Is(err, io.EOF) || len(all) > maxRows {
				return nil
			}
			if err != nil {
				return err
			}
			var texts []string
			for _, c := range cells {
				texts = append(texts, textOf(c))
			}
			all = append(all, texts)
		}
	})
	return all, name.Bytes(), err
}

// byCount checks that a query that sorts all columns by count returns the rows of the CSV file. The
// bytes that identify the source must depend only on the values.
func byCount(t *testing.T, query func(sql string) origin.Source) {
	t.Helper()
	csv, _, err := rows(t, origin.Source{From: filepath.Join("testdata", "patients.csv")})
	check(t, err)
	got, named, err := rows(t, query(allByCount))
	check(t, err)
	if diff := cmp.Diff([][]string{csv[0], csv[1], csv[4], csv[5], csv[2], csv[3]}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if _, again, _ := rows(t, query(allByCount+" -- the same values")); !bytes.Equal(again, named) {
		t.Error("the same values have two names")
	}
	if _, other, _ := rows(t, query(allByCount+" desc")); bytes.Equal(other, named) {
		t.Error("values in another order have the same name")
	}
}

const allByCount = "select age, count, pressure, dose, treated, born, site from patients order by count"

// textOf returns a cell as a string. Equal numbers get equal strings, no matter how they are
// written.
func textOf(c table.Cell) string {
	if c.Kind == table.Missing {
		return ""
	}
	if x, err := strconv.ParseFloat(c.Text, 64); c.Kind == table.Number || err == nil && x < 1<<53 {
		if c.Kind == table.Number {
			x = c.Number
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return c.Text
}

func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, content, 0o600))
	return path
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	check(t, err)
	return b
}

func compress(t *testing.T, w io.WriteCloser, of *bytes.Buffer, text []byte) []byte {
	t.Helper()
	_, err := w.Write(text)
	check(t, errors.Join(err, w.Close()))
	return of.Bytes()
}

// The Parquet files come from pyarrow and have small pages and groups. The Arrow data has small
// compressed batches. The bytes that identify a file must be its content.
func TestFormatsAgree(t *testing.T) {
	text := content(t, "patients.csv")
	var gz, zst bytes.Buffer
	zw, err := zstd.NewWriter(&zst)
	check(t, err)
	want, named, err := rows(t, origin.Source{From: filepath.Join("testdata", "patients.csv")})
	if err != nil || !bytes.Equal(named, text) || len(want) != 6 {
		t.Fatalf("%d rows and %d bytes of %d: %v", len(want), len(named), len(text), err)
	}
	for name, b := range map[string][]byte{
		"patients.parquet": content(t, "patients.parquet"),
		"patients.arrow":   content(t, "patients.arrow"),
		"patients.arrows":  content(t, "patients.arrows"),
		"patients.csv.gz":  compress(t, gzip.NewWriter(&gz), &gz, text),
		"patients.csv.zst": compress(t, zw, &zst, text),
		"marked.csv":       append([]byte("\ufeff"), text...),
		"windows.csv":      bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
	} {
		got, named, err := rows(t, origin.Source{From: file(t, name, b)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !bytes.Equal(named, b) {
			t.Errorf("%s: the name has %d bytes of %d", name, len(named), len(b))
		}
	}
}

// The bytes that identify a file must include those after the last row that was read.
func TestNameCoversTheWholeFile(t *testing.T) {
	text := []byte(strings.Repeat("a,b\n", 1<<17))
	var name bytes.Buffer
	err := origin.Source{From: file(t, "long.csv", text)}.Read(t.Context(), format, nil, &name, func(r table.Reader) error {
		_, err := r.Next()
		return err
	})
	if err != nil || !bytes.Equal(name.Bytes(), text) {
		t.Errorf("the name has %d bytes of %d: %v", name.Len(), len(text), err)
	}
}

// The error must have the file and the problem and, if the file can be converted, explain how.
func TestRefusedFiles(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"book.xlsx", "PK\x03\x04rest", "save the sheet as CSV"},
		{"old.xls", "\xd0\xcf\x11\xe0rest", "save the sheet as CSV"},
		{"wide.csv", "\xff\xfea\x00,\x00", "iconv -f UTF-16"},
		{"base.db", "SQLite format 3\x00", "--query cohort.sql"},
		{"table.arrow", "ARROW1\x00\x00", "copy the file again"},
		{"table.arrows", "\xff\xff\xff\xff\x10\x00\x00\x00", "copy the file again"},
		{"cut.arrow", string(content(t, "patients.arrow")[:900]), "copy the file again"},
		{"cut.arrows", string(content(t, "patients.arrows")[:2100]), "copy the file again"},
		{"data.sav", "$FL2@(#)", "export the table"},
		{"data.xz", "\xfd7zXZ\x00", "use gzip or zstd"},
		{"broken.parquet", "PAR1 and nothing of the kind", "parquet"},
		{"cut.gz", "\x1f\x8b", "EOF"},
		{"empty.csv", "", "the file is empty"},
	} {
		_, _, err := rows(t, origin.Source{From: file(t, c.name, []byte(c.content))})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: got %v, want the name of the file and %q", c.name, err, c.want)
		}
	}
	for _, s := range []origin.Source{
		{From: "testdata/patients.csv", Query: "q.sql"},
		{From: "postgres://reader@localhost/cohort"},
		{From: "postgres://reader:secret@localhost/cohort", Query: file(t, "q.sql", []byte("select 1"))},
		{From: "testdata/nothing.csv"},
	} {
		if _, _, err := rows(t, s); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: got %v", s, err)
		}
	}
}

// If a stream claims a large size, it must be refused before that much memory is allocated.
func TestStatedSizeOfArrow(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := rows(t, origin.Source{From: file(t, "large.arrows", []byte("\xff\xff\xff\xff\x00\x00\x00\x20"))})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
		t.Errorf("%d bytes were allocated: %v", took, err)
	}
}

func TestColumnsWithoutNumbers(t *testing.T) {
	for _, name := range []string{"patients.parquet", "patients.arrow", "patients.arrows"} {
		for _, column := range []string{"visits", "seen"} {
			err := origin.Source{From: filepath.Join("testdata", name)}.Read(t.Context(), format, columns(column), io.Discard, func(table.Reader) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "column "+column) {
				t.Errorf("%s of %s: got %v", column, name, err)
			}
		}
	}
}

func TestReadingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"patients.csv", "patients.parquet", "patients.arrow", "patients.arrows"} {
		err := origin.Source{From: filepath.Join("testdata", name)}.Read(ctx, format, wanted, io.Discard, func(r table.Reader) error {
			_, err := r.Next()
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Whatever the bytes of a file are, reading must give rows or end in an error.
func FuzzFile(f *testing.F) {
	for _, name := range []string{"patients.csv", "patients.parquet", "patients.arrow", "patients.arrows", "patients.sqlite"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		check(f, err)
		f.Add(b)
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, b []byte) {
		check(t, os.WriteFile(path, b, 0o600))
		all, _, err := rows(t, origin.Source{From: path})
		if err == nil && len(all) == 0 {
			t.Error(fmt.Errorf("neither rows nor an error"))
		}
	})
}
