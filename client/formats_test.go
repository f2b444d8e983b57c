package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/client"
	"fedpvi/internal/table/arrowdata"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/table/sqldata"
	"fedpvi/pvi/study"
)

func init() { origin.Register(arrowdata.Read, sqldata.Read) }

const formatsSource = `study = { version = 2, name = "formats" }
model = { family = "linear", outcome = "pressure", noise_sd = 1, terms = ["age", "dose", "treated", "born", "site"] }
privacy = { unit = "none" }
[[column]]
name = "age"
type = "numeric"
bounds = [0, 100]
missing = "impute"
impute = 50
[[column]]
name = "dose"
type = "numeric"
bounds = [-1, 10]
[[column]]
name = "treated"
type = "categorical"
levels = ["false", "true"]
missing = "impute"
impute = "false"
[[column]]
name = "born"
type = "date"
since = "1980-01-01"
bounds = ["1960-01-01", "2009-12-31"]
missing = "impute"
impute = "1980-01-01"
[[column]]
name = "site"
type = "categorical"
levels = ["north", "south, west", "Zürich"]
missing = "impute"
impute = "north"
[[column]]
name = "pressure"
type = "numeric"
bounds = [-10, 200]
missing = "impute"
impute = 100
`

// The files were made with pyarrow and sqlite3.
func TestFormatsGiveTheSameRecords(t *testing.T) {
	st, err := study.Parse("formats.toml", []byte(formatsSource))
	if err != nil {
		t.Fatal(err)
	}
	query := filepath.Join(t.TempDir(), "all.sql")
	if err := os.WriteFile(query, []byte("select * from patients order by rowid"), 0o600); err != nil {
		t.Fatal(err)
	}
	var want [][]float64
	for _, name := range []string{"patients.csv", "patients.parquet", "patients.arrow", "patients.arrows", "patients.sqlite"} {
		data := origin.Source{From: filepath.Join("..", "internal", "table", "origin", "testdata", name)}
		if name == "patients.sqlite" {
			data.Query = query
		}
		records, found, err := client.ExamineRecords(t.Context(), st, data, "")
		if err != nil {
			t.Fatal(err)
		}
		var got [][]float64
		for i := range records.Len() {
			got = append(got, records.Row(i))
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 5 || found.Report.Refused != 0 {
			t.Errorf("%s: %d records, %d refused (-csv +got):\n%s", name, len(got), found.Report.Refused, diff)
		}
	}
}
