package report

import (
	"math"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// The expected numbers were computed by hand for three records. A record that one of the runs
// leaves out must not count.
func TestRanked(t *testing.T) {
	densities := []map[int]float64{{2: -1, 3: -2, 5: -3, 6: -9}, {2: -1.5, 3: -2, 5: -2}}
	c := ranked([]string{"a", "b"}, densities, []int{2, 3, 5}, 1)
	want := []Compared{
		{"b", -5.5, math.Sqrt(3 * 1. / 12), 0, 0},
		{"a", -6, math.Sqrt(3), -0.5, math.Sqrt(3 * 7. / 12)},
	}
	for i, r := range c.Runs {
		w := want[i]
		if r.Folder != w.Folder {
			t.Fatalf("run %d is %s", i, r.Folder)
		}
		for _, pair := range [][2]float64{{r.ELPD, w.ELPD}, {r.SE, w.SE}, {r.Difference, w.Difference}, {r.DifferenceSE, w.DifferenceSE}} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("run %s: %v, want %v", r.Folder, r, w)
			}
		}
	}
	var text strings.Builder
	if err := c.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"b", "-5.5", "-0.5", "1 record that", "do not say which"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, text.String())
		}
	}
}

// A column that only one of the studies has is no obstacle.
func TestDeclaredAlike(t *testing.T) {
	of := func(columns ...study.Column) *study.Study { return &study.Study{Columns: columns} }
	y := study.Column{Name: "y", Type: study.Numeric, Low: 0, High: 9}
	wide, logged := y, y
	wide.High, logged.Transform = 99, study.Log
	if err := declaredAlike(of(y), of(y, study.Column{Name: "x", Type: study.Numeric, High: 3})); err != nil {
		t.Error(err)
	}
	for _, other := range []study.Column{wide, logged} {
		if err := declaredAlike(of(y), of(other)); err == nil || !strings.Contains(err.Error(), `"y"`) {
			t.Errorf("%v: %v", other, err)
		}
	}
}
