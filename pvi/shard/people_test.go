package shard_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const peopleSource = `
study = { version = 2, name = "people" }
table = { person = "patient", trim = true, missing = ["", "?"] }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x"], standardise = "none" }
inference = { rounds = 4 }
privacy = { unit = "person", rows_per_person = %d, epsilon = 1.0, delta = 1e-5 }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 1e9]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
`

func peopleStudy(t testing.TB, rows int) *study.Study {
	t.Helper()
	return parsed(t, fmt.Sprintf(peopleSource, rows))
}

func values(records *shard.Records) (all []float64) {
	for i := range records.Len() {
		all = append(all, records.Row(i)[0])
	}
	return all
}

// Keep keeps at most rows_per_person rows of each person, and places them next to each other. If a
// person is removed from the file, exactly the kept rows of that person disappear from the result.
func TestKeepOfNeighbours(t *testing.T) {
	studies := map[int]*study.Study{1: peopleStudy(t, 1), 2: peopleStudy(t, 2), 4: peopleStudy(t, 4)}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "rows per person")
		st := studies[most]
		persons := rapid.SliceOfN(rapid.StringMatching(`[a-e]|`), 0, 40).Draw(t, "person of each row")
		victim := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", ""}).Draw(t, "victim")
		all, without := new(shard.Records), new(shard.Records)
		of, have := map[float64]string{}, map[string]int{}
		for i, person := range persons {
			of[float64(i)] = person
			have[person]++
			all.AppendFor(person, []float64{float64(i), 0})
			if person != victim {
				without.AppendFor(person, []float64{float64(i), 0})
			}
		}
		kept := values(all.Keep(st))
		others := slices.DeleteFunc(slices.Clone(kept), func(x float64) bool { return of[x] == victim })
		if left := values(without.Keep(st)); !slices.Equal(others, left) {
			t.Fatalf("without %q the rows %v are kept, want %v", victim, left, others)
		}
		counts, last := map[string]int{}, ""
		for i, x := range kept {
			if i > 0 && of[x] != last && counts[of[x]] > 0 {
				t.Fatalf("the rows of %q are not together: %v", of[x], kept)
			}
			last = of[x]
			counts[last]++
		}
		for person, n := range have {
			if counts[person] != min(n, most) {
				t.Fatalf("%d rows of %q are kept of %d, want at most %d", counts[person], person, n, most)
			}
		}
		if !slices.Equal(kept, values(all.Keep(st).Keep(st))) {
			t.Fatal("a second call of Keep keeps other rows")
		}
		if s := shard.Design(st, all); s.Len() != len(kept) || s.Units() != len(counts) {
			t.Fatalf("the shard has %d rows of %d persons, want %d of %d", s.Len(), s.Units(), len(kept), len(counts))
		}
	})
}

// Keep keeps each of eight rows with probability 3/8. For 3000 people, the share has a standard
// deviation of 0.0088. The probability that any of the eight shares is off by more than 0.05 is
// below 1e-5.
func TestLotIsFair(t *testing.T) {
	const persons, rows, most = 3000, 8, 3
	st := peopleStudy(t, most)
	records := new(shard.Records)
	for i := range persons * rows {
		records.AppendFor(fmt.Sprint(i/rows), []float64{float64(i), 0})
	}
	var shares [rows]float64
	for _, x := range values(records.Keep(st)) {
		shares[int(x)%rows] += 1. / persons
	}
	for n, share := range shares {
		if math.Abs(share-most/float64(rows)) > .05 {
			t.Errorf("row %d of a person is kept with probability %.3f, want %.3f", n+1, share, most/float64(rows))
		}
	}
}

// Rows that do not say which person they belong to are left out. Records that were written can be
// read again.
func TestReadPersons(t *testing.T) {
	st := peopleStudy(t, 2)
	records, report := read(t, st, "x,patient,y\n1, anna ,no\n2,?,yes\n3,bo,yes\n4,anna,yes\n5,,no\n")
	if diff := cmp.Diff([][]int{{0, 2}, {1}}, records.People()); diff != "" {
		t.Errorf("persons (-want +got):\n%s", diff)
	}
	if report.Dropped["patient"] != 2 {
		t.Errorf("%d rows without a person were left out, want 2", report.Dropped["patient"])
	}
	var file bytes.Buffer
	check(t, shard.Write(&file, st, records))
	if want := "x,y,patient\n1,no,anna\n3,yes,bo\n4,yes,anna\n"; file.String() != want {
		t.Errorf("written:\n%swant:\n%s", file.String(), want)
	}
	again, _ := read(t, st, file.String())
	if diff := cmp.Diff(records.People(), again.People()); diff != "" {
		t.Errorf("persons after writing (-want +got):\n%s", diff)
	}
	if _, _, err := shard.Read("r.csv", strings.NewReader("x,y\n1,no\n"), st); err == nil || !strings.Contains(err.Error(), "column patient: the header does not name this column") {
		t.Errorf("no column of persons: %v", err)
	}
}

// White space does not make a different person, and text without a visible character does not
// identify anyone. Otherwise, rows of several people would count as those of one. If one of these
// people were removed, Keep would keep different rows of the others.
func TestBlankNamesNobody(t *testing.T) {
	for _, table := range []string{`missing = ["NA"]`, `missing = []`, `missing = ["NA"], trim = true`} {
		source := strings.Replace(fmt.Sprintf(peopleSource, 2), `trim = true, missing = ["", "?"]`, table, 1)
		st := parsed(t, source)
		records, report := read(t, st, "x,patient,y\n1,,no\n2,  ,yes\n3,anna,yes\n4,\"\t\",yes\n5,\u00a0,no\n6, anna ,no\n")
		if len(records.People()) != 1 || records.Len() != 2 || report.Dropped["patient"] != 4 {
			t.Errorf("%s: %d rows of %d persons are kept and %d are left out, want 2 of 1 and 4", table, records.Len(), len(records.People()), report.Dropped["patient"])
		}
	}
}

// All rows of a person go to the same part.
func TestDealKeepsPersons(t *testing.T) {
	st := peopleStudy(t, 3)
	records := new(shard.Records)
	for i := range 9 {
		records.AppendFor(fmt.Sprint(i%4), []float64{float64(i % 4), 0})
	}
	s := shard.Design(st, records)
	parts := []uint16{1, 0, 1, 1}
	for part, dealt := range s.Deal(parts, 2) {
		want := map[int]int{0: 2, 1: 7}[part]
		if dealt.Len() != want {
			t.Errorf("part %d has %d rows, want %d", part, dealt.Len(), want)
		}
		for i := range dealt.Len() {
			if x, _ := dealt.Record(i); int(parts[int(x[1])]) != part {
				t.Errorf("a row of person %g is in part %d", x[1], part)
			}
		}
	}
}

// The rows that Keep keeps for a person do not depend on other people's rows.
func FuzzKeep(f *testing.F) {
	st := peopleStudy(f, 2)
	f.Add("patient,x,y\na,1,no\nb,2,yes\na,3,no\na,4,no\n")
	f.Add("y,x,patient\nno,1,\"a\n\"\nno,2, \n")
	f.Fuzz(func(t *testing.T, file string) {
		records, _, err := shard.Read("r.csv", strings.NewReader(file), st)
		if err != nil {
			return
		}
		kept := records.Keep(st)
		at := 0
		for _, rows := range records.People() {
			alone := records.Select(rows).Keep(st)
			if alone.Len() > 2 || at+alone.Len() > kept.Len() {
				t.Fatalf("%d rows of a person", alone.Len())
			}
			for i := range alone.Len() {
				if !slices.Equal(alone.Row(i), kept.Row(at)) {
					t.Fatalf("row %d differs from the row that is kept for the person alone", at)
				}
				at++
			}
		}
		if at != kept.Len() {
			t.Fatalf("%d rows are kept, want %d", kept.Len(), at)
		}
	})
}
