package words_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/words"
)

// The description of a study lists every column with its bounds or levels, and every rule that
// leaves out records. It points out narrow slices, and columns that are used only to choose
// records.
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
	kept := strings.Join(words.NewExplained(protocol(t, summed+columns, 3)).Kept, "\n")
	says(t, kept, []string{
		"site: one of a, b, c, d, e, f; other records are left out. The model does not use this column",
		"year: a number in [2020, 2021]; other records are left out. The model does not use this column: it only selects records. A NARROW SLICE: the study keeps only records with year from 2020 to 2021.",
		"weight: a number in [50, 52]; other values count as the nearest bound; records without a value are left out. The model does not use this column: it only selects records.",
		"any number of records",
		"Only the holder learns",
	}, "")
}

func TestExplain(t *testing.T) {
	var b strings.Builder
	if err := words.Explain(&b, protocol(t, summed, 3)); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	says(t, text, []string{"linear regression of y on 2 coefficients", "normal(0, 1)", "4 times: the change of its factor", "The coordinator can open every single answer"}, "and 0 more")
}
