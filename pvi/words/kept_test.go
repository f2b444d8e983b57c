package words_test

import (
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// The description of a study names every column with its bounds or with all of its levels. It
// states that other records are left out under every rule of the study. It points out narrow
// slices, and columns that only serve to choose records.
func TestRecordsThatCount(t *testing.T) {
	const columns = `
[[column]]
name = "site"
type = "categorical"
levels = ["a", "b", "c", "d", "e", "f"]
[[column]]
name = "year"
type = "numeric"
bounds = [2020, 2021]
outside = "refuse"
missing = "drop"
[[column]]
name = "weight"
type = "numeric"
bounds = [50, 52]
outside = "clamp"
`
	st, err := study.Parse("s.toml", []byte(summed+columns))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pvi.NewProtocol(st, []pvi.ClientID{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Join(words.NewExplained(p).Kept, "\n")
	for _, want := range []string{
		"site: one of a, b, c, d, e, f; other records are left out. The model does not use this column",
		"year: a number in [2020, 2021]; other records are left out. The model does not use this column: it only selects records. A NARROW SLICE: the study keeps only records with year from 2020 to 2021.",
		"weight: a number in [50, 52]; other values count as the nearest bound; records without a value are left out. The model does not use this column: it only selects records.",
		"any number of records",
		"Only the holder learns",
	} {
		if !strings.Contains(kept, want) {
			t.Errorf("%q is not in\n%s", want, kept)
		}
	}
}
