package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// For outcomes drawn at the posterior mean, about half of the drawn statistics are larger than the
// observed one, on average. For outcomes drawn at a different θ, at least one observed statistic
// lies outside its interval.
func TestCheck(t *testing.T) {
	for _, name := range []string{"linear", "robust", "logistic", "probit", "poisson", "plain counts", "softmax", "known noise"} {
		m := newModel(t, name)
		r := rand.New(rand.NewPCG(9, 9))
		theta := make([]float64, m.Dim())
		for i := range theta {
			theta[i] = .3 * r.NormFloat64()
		}
		family := gaussian.Full(m.Dim())
		natural := make([]float64, family.Size())
		if err := family.FromMoments(natural, theta, mat.NewDiagDense(m.Dim(), slices.Repeat([]float64{1e-4}, m.Dim()))); err != nil {
			t.Fatal(err)
		}
		const sets = 8
		var above []float64
		for range sets {
			s := drawnShard(m, 60, theta, r)
			checks, err := m.Check(s, family, natural, r)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range checks {
				if c.Low > c.High || c.Above < 0 || c.Above > 1 {
					t.Fatalf("%s: %+v", name, c)
				}
				above = append(above, c.Above)
			}
		}
		mean := average(above)
		outside := 0
		for _, a := range above {
			if a < .02 || a > .98 {
				outside++
			}
		}
		if math.Abs(mean-.5) > .15 || float64(outside) > .12*float64(len(above)) {
			t.Errorf("%s: draws above are %.2f on average, and %d of %d observed statistics are in the tails", name, mean, outside, len(above))
		}
		other := slices.Clone(theta)
		other[0] += 1.5
		checks, err := m.Check(drawnShard(m, 60, other, r), family, natural, r)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Observed < c.Low || c.Observed > c.High }) {
			t.Errorf("%s: outcomes of another intercept pass: %+v", name, checks)
		}
	}
	m := newModel(t, "mixture")
	if checks, err := m.Check(randomShard(m, 5, rand.New(rand.NewPCG(1, 1))), nil, nil, nil); checks != nil || err != nil {
		t.Errorf("a mixture: %v, %v", checks, err)
	}
	m = newModel(t, "logistic")
	if checks, err := m.Check(shard.Design(m.Study, new(shard.Records)), nil, nil, nil); checks != nil || err != nil {
		t.Errorf("no records: %v, %v", checks, err)
	}
}

// drawnShard returns n records with outcomes drawn at θ.
func drawnShard(m *Model, n int, theta []float64, r *rand.Rand) *shard.Shard {
	records := new(shard.Records)
	for range n {
		records.Append([]float64{2*r.Float64() - 1, 10 * r.Float64(), 0, 0, float64(r.IntN(3))})
	}
	design := shard.Design(m.Study, records)
	column, _ := m.Study.Column(m.Study.Model.Outcome)
	at := m.Study.ColumnIndex(column.Name)
	for i := range n {
		y := m.Draw(design, i, theta, r)
		switch m.Study.Model.Kind() {
		case study.Measured:
			y = min(max(m.Study.Unscale(column, y), column.Low), column.High)
		case study.Count:
			y = min(max(y, column.Low), column.High)
		case study.Binary:
			for level := range 3 { // level of column c
				if m.Study.Model.Positive.Of(float64(level)) == (y == 1) {
					y = float64(level)
					break
				}
			}
		}
		records.Row(i)[at] = y
	}
	return shard.Design(m.Study, records)
}
