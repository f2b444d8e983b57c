package shard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedpvi/internal/table"
	"fedpvi/pvi/shard"
)

// Examine finds all values that do not fit, even if a row has several of them. It returns the same
// records as Read.
func TestExamine(t *testing.T) {
	st := parsed(t, cellsSource)
	fits := map[string]func(string) shard.Problem{
		"x": func(v string) shard.Problem {
			return map[string]shard.Problem{"": "missing", "NaN": "missing", "7e9": "out of bounds", "a": "not a number"}[v]
		},
		"site": func(v string) shard.Problem {
			return map[string]shard.Problem{"": "missing", "NaN": "missing", "7e9": "not a level", "a": "not a level", "3": "not a level"}[v]
		},
	}
	fits["y"] = fits["x"]
	names := []string{"x", "site", "y"}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "1", "", "NaN", "7e9", "a", "3"}), 3, 3), 0, 30).Draw(t, "values")
		person := rapid.SliceOfN(rapid.SampledFrom([]string{"p", "q", "r"}), len(values), len(values)).Draw(t, "persons")
		text, want, rows := "x,site,y,who,more\n", map[string][]int{}, map[string]int{}
		for i, row := range values {
			text += strings.Join(append(row, person[i], "z"), ",") + "\n"
			rows[person[i]]++
			for j, name := range names {
				if p := fits[name](row[j]); p != "" {
					key := fmt.Sprintf("%s: %s", name, p)
					want[key] = append(want[key], i+2)
				}
			}
		}
		csv, err := table.NewCSV(strings.NewReader(text), shard.Format(st))
		check(t, err)
		records, x, err := shard.Examine("r.csv", csv, st, "who")
		check(t, err)
		plain, report, err := shard.Read("r.csv", strings.NewReader(text), st)
		check(t, err)
		if diff := cmp.Diff(report, x.Report); diff != "" || plain.Len() != records.Len() {
			t.Fatalf("%d records, want %d; report (-Read +Examine):\n%s", records.Len(), plain.Len(), diff)
		}
		got := map[string][]int{}
		for _, f := range x.Findings {
			key := fmt.Sprintf("%s: %s", f.Column, f.Problem)
			all := want[key]
			if f.Count != len(all) {
				t.Fatalf("%s: %d values, want those of the lines %v", key, f.Count, all)
			}
			for _, p := range f.Places {
				got[key] = append(got[key], p.Row)
			}
			want[key] = all[:min(len(all), shard.MostPlaces)]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("lines (-want +got):\n%s", diff)
		}
		several, most := 0, 0
		for _, n := range rows {
			most = max(most, n)
			if n > 1 {
				several++
			}
		}
		if diff := cmp.Diff(&shard.Persons{Column: "who", Number: len(rows), Several: several, Most: most}, x.Persons); diff != "" {
			t.Fatalf("persons (-want +got):\n%s", diff)
		}
		if x.Rows != len(values) || x.Unit != "line" || !cmp.Equal(x.Unused, []string{"more"}) {
			t.Fatalf("%d rows of %d, numbered by %s, unused columns %v", x.Rows, len(values), x.Unit, x.Unused)
		}
	})
}

func TestExaminePersons(t *testing.T) {
	headless := parse(t, "[table]", "[table]\nheader = false")
	csv, err := table.NewCSV(strings.NewReader("f;30;I;1\n"), shard.Format(headless))
	check(t, err)
	if _, _, err := shard.Examine("r.csv", csv, headless, "who"); err == nil || !strings.Contains(err.Error(), "r.csv: the file has no header") {
		t.Errorf("persons of a table without a header: %v", err)
	}
	csv, err = table.NewCSV(strings.NewReader(header), shard.Format(parse(t)))
	check(t, err)
	if _, _, err := shard.Examine("r.csv", csv, parse(t), "who"); err == nil || !strings.Contains(err.Error(), "column who: the header does not name this column") {
		t.Errorf("a column that is not there: %v", err)
	}
}
