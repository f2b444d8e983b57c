package population

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// If columns are rescaled, q stays the same in public units.
func TestRescaledColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const d = 3
	scale := mat.NewDiagDense(d, []float64{.01, 3, 100})
	information := congruent(normalMatrix(rng, d), scaledUnit(d, 1))
	plain, err := NewUnits(information)
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := NewUnits(congruent(scale, information))
	if err != nil {
		t.Fatal(err)
	}
	theta := []float64{1, 2, 3}
	// Multiplying a column by s divides its coefficient by s and multiplies its gradient by s.
	divided, multiplied := slices.Clone(theta), slices.Clone(theta)
	for i := range d {
		divided[i] /= scale.At(i, i)
		multiplied[i] *= scale.At(i, i)
	}
	if a, b := plain.To(theta), scaled.To(divided); !floats.EqualApprox(a, b, 1e-9) {
		t.Errorf("θ in public units is %v and %v", a, b)
	}
	if a, b := plain.Gradient(theta), scaled.Gradient(multiplied); !floats.EqualApprox(a, b, 1e-9) {
		t.Errorf("a gradient in public units is %v and %v", a, b)
	}
	if a := plain.From(plain.To(theta)); !floats.EqualApprox(a, theta, 1e-12) {
		t.Errorf("θ and back is %v", a)
	}
	if a := plain.Information(information); !mat.EqualApprox(a, scaledUnit(d, 1), 1e-9) {
		t.Errorf("the information in public units is %v", mat.Formatted(a))
	}
	var inverse mat.Dense
	if err := inverse.Inverse(information); err != nil {
		t.Fatal(err)
	}
	if a := plain.Covariance(scaledUnit(d, 1)); !mat.EqualApprox(a, &inverse, 1e-9) {
		t.Errorf("the covariance of unit variance is %v", mat.Formatted(a))
	}
}

// Noise, prior and rules do not depend on the direction. So exchanging two coordinates of the model
// exchanges the same coordinates of q, apart from the random draws.
func TestRotatedColumns(t *testing.T) {
	f := linear(federation{d: 3, clients: 100, epsilon: 10})
	f.draw(3)
	state := f.rng
	*state = *rand.New(rand.NewPCG(9, 9))
	before := f.run(t, 1).Posterior()

	turn := mat.NewDense(3, 3, []float64{0, 1, 0, 0, 0, 1, 1, 0, 0})
	for m := range f.x {
		for i, x := range f.x[m] {
			f.x[m][i] = times(turn, x)
		}
	}
	f.zero = nil // this makes score compute the gradient at 0 from x again
	*state = *rand.New(rand.NewPCG(9, 10))
	after := f.run(t, 1).Posterior()
	for i, at := range []int{2, 0, 1} {
		sd, other := math.Sqrt(before.Covariance().At(i, i)), math.Sqrt(after.Covariance().At(at, at))
		if math.Abs(before.Mean()[i]-after.Mean()[at]) > 3*sd || math.Abs(math.Log(sd/other)) > .25 {
			t.Errorf("coordinate %d: %g ± %g, and rotated %g ± %g", i, before.Mean()[i], sd, after.Mean()[at], other)
		}
	}
}

// One round is void. The state stays valid, and the clipping bound rises only at the start of the
// late rounds.
func TestVoidRounds(t *testing.T) {
	f := linear(federation{d: 2, clients: 100, epsilon: 4})
	f.draw(4)
	s, _ := New(f.setting(4))
	sum := make([]float64, Size(2, nil))
	for number := 1; number <= 10; number++ {
		if number == 5 { // make the last round before the late ones void
			continue
		}
		clear(sum)
		for m := range f.x {
			g, information := f.score(m, s.Query(number).Point)
			v := make([]float64, len(sum))
			s.Query(number).Vector(v, g, information)
			floats.AddScaled(sum, s.rules.Weights[number-1], v)
		}
		late, clip := s.late, s.query.Clip
		next, ok := s.Next(number, 100, sum)
		if !ok {
			t.Fatalf("round %d gives no posterior", number)
		}
		if number > 1 && late == next.late && next.query.Clip > clip {
			t.Errorf("round %d raises the clip from %g to %g", number, clip, next.query.Clip)
		}
		s = next
	}
	if !s.late || len(s.rounds) != 8 {
		t.Errorf("late clip %v after %d rounds", s.late, len(s.rounds))
	}
}

func TestGuessedSlope(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, d := range []int{1, 2, 7} {
		for _, c := range []float64{.6, 1.5} {
			var sum float64
			const n = 200_000
			for range n {
				var square float64
				for range d {
					z := rng.NormFloat64()
					square += z * z
				}
				if x := math.Sqrt(square / float64(d)); x <= c {
					sum++
				} else {
					sum += c / x * (1 - 1/float64(d))
				}
			}
			// Slopes are between 0 and 1, so the mean over the draws has a standard deviation of at most
			// .0012.
			if got := guessedSlope(c, d); math.Abs(got-sum/n) > .006 {
				t.Errorf("d = %d, c = %g: slope %.4f, want %.4f", d, c, got, sum/n)
			}
		}
	}
}

// In one dimension, draws of W agree with a posterior computed on a grid over W and h, the unknown
// vector in [rules.drawCurvature].
func TestDrawCurvature(t *testing.T) {
	r, ok := newRules(&Setting{
		Mean: []float64{0}, Precision: scaledUnit(1, 1), Records: 20, Clients: 50, Weights: []float64{1}, Noise: .01,
	})
	if !ok {
		t.Fatal("the prior is not proper")
	}
	rounds := []*round{
		{curvature: scaledUnit(1, 9), curvatureSD: 3},
		{curvature: scaledUnit(1, 12), curvatureSD: 4},
	}
	obs := []effective{
		{gradient: []float64{7}, point: []float64{0}, sd: 1},
		{gradient: []float64{-1.5}, point: []float64{.7}, sd: .8},
		{gradient: []float64{1}, point: []float64{.6}, sd: 2},
	}
	const n = 20_000
	all, ok := r.drawCurvature(rounds, obs, r.normals(1, 2*n), n)
	if !ok {
		t.Fatal("no draws")
	}
	got := make([]float64, n)
	for k, w := range all {
		got[k] = w.At(0, 0)
	}

	centre := typical * r.nominal
	normal := func(x, mean, variance float64) float64 {
		return math.Exp(-(x-mean)*(x-mean)/(2*variance)) / math.Sqrt(variance)
	}
	var ws, density []float64
	for w := -20.; w < 40; w += .1 {
		var p float64
		for _, sd := range curvatureSDs {
			p += normal(w, centre, centre*centre*(sd*sd+typicalSD*typicalSD))
		}
		for _, o := range rounds {
			p *= normal(o.curvature.At(0, 0), w, o.curvatureSD*o.curvatureSD)
		}
		var marginal float64
		for h := -30.; h < 50; h += .1 {
			each := 1.
			for _, o := range obs {
				each *= normal(o.gradient[0], h-w*o.point[0], o.sd*o.sd)
			}
			marginal += each
		}
		ws, density = append(ws, math.Max(w, leastShare*centre)), append(density, p*marginal)
	}
	floats.Scale(1/floats.Sum(density), density)
	mean, sd := stat.PopMeanStdDev(ws, density)
	gotMean, gotSD := stat.MeanStdDev(got, nil)
	if math.Abs(gotMean-mean) > 4*sd/math.Sqrt(n) || math.Abs(gotSD/sd-1) > 4/math.Sqrt(2*n) {
		t.Errorf("draws of W have mean %.3f and sd %.3f, want %.3f and %.3f", gotMean, gotSD, mean, sd)
	}
}

func TestQuantile(t *testing.T) {
	m := &Mixture{[][]float64{{0}, {10}}, []*mat.SymDense{scaledUnit(1, 1), scaledUnit(1, 4)}}
	if got := m.quantile(0, .25); math.Abs(got) > 1e-6 { // the median of the first component is 0
		t.Errorf("the first quartile is %g, want 0", got)
	}
	if got := m.quantile(0, .75); math.Abs(got-10) > 1e-5 {
		t.Errorf("the third quartile is %g, want 10", got)
	}
	if got := m.Covariance().At(0, 0); math.Abs(got-(2.5+25)) > 1e-12 {
		t.Errorf("the variance is %g, want 27.5", got)
	}
}

// TestMeanSquare compares the quantiles of draws with those of the chi-square distribution.
func TestMeanSquare(t *testing.T) {
	for _, n := range []float64{9, 99} {
		for _, p := range []float64{.05, .5, .95} {
			got, want := meanSquare(n, distuv.UnitNormal.Quantile(p)), distuv.ChiSquared{K: n}.Quantile(p)/n
			if math.Abs(got/want-1) > .02 {
				t.Errorf("quantile %g of the mean of %g squares is %g, want %g", p, n, got, want)
			}
		}
	}
}
