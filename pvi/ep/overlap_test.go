package ep

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// With nearly collinear columns, a diagonal q converges to the posterior's mean if the steps are as
// short as Overlap makes them, and diverges otherwise. Outcomes are normal, so this mean is known.
// That of q agrees up to a relative error of one over the number of records.
func TestOverlappingColumnsComeToTheMean(t *testing.T) {
	const d, n = 6, 200
	random := rand.New(rand.NewPCG(4, 4))
	r := solver.NewRegression(d, solver.Outcome{Family: study.Linear, NoiseSD: 1})
	precision, shift := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	for i := range d {
		precision.SetSym(i, i, 1) // precision of the prior
	}
	for range n {
		common, x := random.NormFloat64(), mat.NewVecDense(d, nil)
		for j := range d {
			x.SetVec(j, common+0.4*random.NormFloat64())
			r.Load(j, x.AtVec(j))
		}
		r.EndPredictor()
		y := 2*common + random.NormFloat64()
		r.EndRecord(y)
		precision.SymRankOne(precision, 1, x)
		shift.AddScaledVec(shift, y, x)
	}
	var want mat.VecDense
	if err := want.SolveVec(precision, shift); err != nil {
		t.Fatal(err)
	}
	family := gaussian.Diagonal(d)
	off := func(overlap float64, glide bool, passes int) (worst float64) {
		o := SEPOptions{Power: 1, StepSize: 1, Overlap: overlap, Glide: glide, Improper: study.Project}
		factor, mean := make([]float64, family.Size()), make([]float64, d)
		if err := SEP(factor, unit(family), NewRegression(r, family, 1, 1), o, passes); err != nil {
			return math.Inf(1)
		}
		for i, x := range unit(family) {
			factor[i] += x
		}
		if err := family.Mean(mean, factor); err != nil {
			return math.Inf(1)
		}
		for i, x := range mean {
			worst = math.Max(worst, math.Abs(x-want.AtVec(i)))
		}
		return worst
	}
	if gap := off(d, false, 200); !(gap < 0.2) {
		t.Errorf("with an overlap of %d a mean is off by %g", d, gap)
	}
	if gap := off(d, true, 200); !(gap < 0.05) {
		t.Errorf("gliding a mean is off by %g", gap)
	}
	for passes := range 12 {
		for _, glide := range []bool{false, true} {
			if gap := off(d, glide, passes+1); !(gap < 0.5) {
				t.Errorf("with an overlap of %d a mean is off by %g after %d passes, gliding: %t", d, gap, passes+1, glide)
			}
		}
	}
	if gap := off(1, false, 3); !(gap > 3) {
		t.Errorf("with steps that ignore other coordinates the mean is wrong by only %g", gap)
	}
}
