package fit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Load accepts a record with a value exactly on its public bound, even if rounding moves the scaled
// value beyond the bound. An error would reveal the value.
func TestRecordsOnTheirBoundsAreLoaded(t *testing.T) {
	const text = `
study = { version = 1, name = "bounds" }
model = { family = "robust", outcome = "y", terms = ["x"], intercept = false, standardise = "bounds" }
inference = { rounds = 1 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
[[column]]
name = "x"
type = "numeric"
bounds = [%[1]g, %[2]g]
[[column]]
name = "y"
type = "numeric"
bounds = [%[1]g, %[2]g]
`
	beyond := 0
	for i := -40; i < 40; i += 3 {
		for k := i + 1; k < 44; k += 4 {
			low, high := float64(i)/10, float64(k)/10
			m := modelOf(t, fmt.Sprintf(text, low, high))
			records := new(shard.Records)
			records.Append([]float64{low, high})
			records.Append([]float64{high, low})
			s := shard.Design(m.Study, records)
			for n := range 2 {
				if x, y := s.Record(n); math.Abs(x[0]) > 1 || math.Abs(y) > 1 {
					beyond++
				}
			}
			if _, err := m.Load(s); err != nil {
				t.Errorf("bounds [%g, %g]: %v", low, high, err)
			}
		}
	}
	if beyond == 0 {
		t.Error("no value was rounded beyond its bound")
	}
}

// With a million interactions, New returns an error at the first name that is too long. It does not
// build the other names.
func TestLongNamesAreNotWrittenOut(t *testing.T) {
	text := "study = { version = 1, name = \"long\" }\nmodel = { family = \"linear\", outcome = \"y\", terms = [\"a*b*c\"], noise_sd = 1.0 }\n" +
		"inference = { rounds = 1, q = \"diagonal\" }\nprivacy.unit = \"none\"\n[[column]]\nname = \"y\"\ntype = \"numeric\"\nbounds = [0, 1]\n"
	for _, column := range []string{"a", "b", "c"} {
		text += fmt.Sprintf("[[column]]\nname = %q\ntype = \"categorical\"\nlevels = [", column)
		for i := range 99 {
			text += fmt.Sprintf("%q, ", fmt.Sprint(strings.Repeat(column, 3000), i))
		}
		text += "]\n"
	}
	st, err := study.Parse("long.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	memory.Bound(t, len(text), func() { _, err = New(st) })
	if want := "column \"x\": a entry needs a name of 1..256 bytes of UTF-8"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("names of 9,000 bytes: %v", err)
	}
}
