package words_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/internal/table"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// Values in a different encoding need a different remedy than misspelled ones, even if the study
// deliberately leaves out such records.
func TestRemedyOfAnotherEncoding(t *testing.T) {
	const source = `
study = { version = 3, name = "ward" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["ward"] }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 100 }
column = [
  { name = "ward", type = "categorical", levels = ["Süd", "Nord"], outside = "drop", missing = "drop" },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
`
	st, err := study.Parse("ward.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"S\xfcd":                           "iconv -f WINDOWS-1252 -t UTF-8",
		"S\xfcd" + strings.Repeat("d", 40): "iconv -f WINDOWS-1252 -t UTF-8",
		"Süden":                            "If the texts are misspelled",
		"S\x01d":                           "If the texts are misspelled",
	} {
		rows, err := table.NewCSV(strings.NewReader(fmt.Sprintf("ward,y\nNord,no\n%s,yes\n", value)), shard.Format(st))
		if err != nil {
			t.Fatal(err)
		}
		_, found, err := shard.Examine("ward.csv", rows, st, "")
		if err != nil || len(found.Findings) != 1 {
			t.Fatalf("%q: %+v, %v", value, found, err)
		}
		e := &words.Examined{Study: st, Of: found}
		says(t, e.Remedy(found.Findings[0]), []string{want}, "")
	}
}
