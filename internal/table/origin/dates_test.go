package origin_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

func days(t *testing.T, s origin.Source, column string) (all []string, err error) {
	t.Helper()
	err = s.Read(t.Context(), format, []table.Wanted{{Name: column, Date: true}}, io.Discard, func(r table.Reader) error {
		for {
			cells, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			all = append(all, textOf(cells[0]))
		}
	})
	return all, err
}

func TestDaysOfParquet(t *testing.T) {
	type row struct {
		Day   int32     `parquet:"day,date"`
		Milli time.Time `parquet:"milli,timestamp(millisecond)"`
		Micro time.Time `parquet:"micro,timestamp(microsecond)"`
		Nano  time.Time `parquet:"nano,timestamp(nanosecond)"`
		Text  string    `parquet:"text"`
		Count int64     `parquet:"count"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	var want []string
	for _, at := range []time.Time{
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC),
		time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
		text := at.Format(time.DateOnly)
		want = append(want, text)
		if _, err := w.Write([]row{{int32(day), at, at, at, text, day}}); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.Close())
	made := origin.Source{From: file(t, "times.parquet", b.Bytes())}
	for _, column := range []string{"day", "milli", "micro", "nano", "text"} {
		got, err := days(t, made, column)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", column, err, diff)
		}
	}
	if _, err := days(t, made, "count"); err == nil || !strings.Contains(err.Error(), "column count: the study reads dates") {
		t.Errorf("numbers as dates: %v", err)
	}
}

func TestDaysOfPyarrow(t *testing.T) {
	for _, name := range []string{"patients.parquet", "patients.arrow", "patients.arrows"} {
		s := origin.Source{From: filepath.Join("testdata", name)}
		for column, want := range map[string][]string{
			"seen": {"2020-01-01", "2020-01-01", "2020-01-01", "2020-01-01", "2020-01-01"},
			"born": {"1990-05-17", "1969-12-31", "", "2006-02-28", "1970-01-01"},
		} {
			got, err := days(t, s, column)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s of %s: %v (-want +got):\n%s", column, name, err, diff)
			}
		}
		if _, err := days(t, s, "age"); err == nil || !strings.Contains(err.Error(), "column age: the study reads dates") {
			t.Errorf("numbers of %s as dates: %v", name, err)
		}
	}
}
