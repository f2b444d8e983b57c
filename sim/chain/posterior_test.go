package chain

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

func TestPrecisionIsOfAConcavePosterior(t *testing.T) {
	const sd = 2.0
	m, err := fit.New(&study.Study{
		Model:   study.Model{Family: study.Logistic, Outcome: "y", Terms: []study.Term{{Columns: []string{"a"}}, {Columns: []string{"b"}}}},
		Columns: []study.Column{{Name: "y", Levels: []string{"no", "yes"}}, {Name: "a", Low: -1, High: 1}, {Name: "b", Low: -1, High: 1}},
		Prior:   study.Prior{SD: sd},
	})
	if err != nil || m.Dim() != 2 {
		t.Fatalf("%d coefficients: %v", m.Dim(), err)
	}
	root, err := Precision(m, []float64{-3, 1, -5}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	var back mat.Dense
	back.Mul(root.T(), root)
	for i, want := range [][]float64{{1.5 + 1/(sd*sd), -0.5}, {-0.5, 2.5 + 1/(sd*sd)}} {
		for j, x := range want {
			if math.Abs(back.At(i, j)-x) > 1e-12 {
				t.Errorf("element %d, %d is %g, want %g", i, j, back.At(i, j), x)
			}
		}
	}
	if _, err := Precision(m, []float64{1e6, 0, 1}, 1); !errors.Is(err, ErrNotConcave) {
		t.Errorf("%v, want %v", err, ErrNotConcave)
	}
}
