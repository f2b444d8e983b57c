package scoring_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/testing/formulas"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// After arbitrary sums, a record's vector is no longer than the clip if it is finite, and has the
// same bits in another file.
//
//abuse:case P18 no record of a program moves a sum of scores by more than the clip
func TestVectorsOfProgramsAreClipped(t *testing.T) {
	const n = 24
	for _, name := range some("linear", "ordered", "survival", "intercepts", "overdispersed") {
		t.Run(name, func(t *testing.T) {
			s := programs[name]
			w := s.world(t, 200, 3, 1)
			r := rand.New(rand.NewPCG(5, 5))
			for _, seed := range []uint64{1} {
				records := s.hostile(t, w.model.Study, r, n)
				other := s.hostile(t, w.model.Study, r, n)
				for i := range n / 2 { // the second halves of the files differ
					x, _ := records.Record(i)
					y, _ := other.Record(n/2 + i)
					copy(y, x)
				}
				all, err := w.Open(records)
				check(t, err)
				beside, err := w.Open(other)
				check(t, err)
				for _, q := range hostileQueries(t, w.Problem, seed) {
					size := q.Size(q.Round())
					got, again := make([]float64, size), make([]float64, size)
					one, two := q.Contributor(all), q.Contributor(beside)
					for i := range n {
						one.Vector(got, i)
						if length := floats.Norm(got, 2); length > q.Clip(q.Round())*(1+1e-12) {
							t.Fatalf("round %d, record %d: a vector has length %g, the clip is %g", q.Round(), i, length, q.Clip(q.Round()))
						}
						if i >= n/2 {
							continue
						}
						two.Vector(again, n/2+i)
						if j, ok := sameBits(got, again); !ok {
							t.Fatalf("round %d, record %d: element %d is %g, and %g beside other records", q.Round(), i, j, got[j], again[j])
						}
					}
				}
			}
		})
	}
}

// A record whose computation panics has no score, and other scores do not change.
func TestProgramRecordThatPanics(t *testing.T) {
	w := programs["linear"].world(t, 300, 3, 1)
	records, err := w.Open(w.records)
	check(t, err)
	want, got := w.ScoresWithout(records, -1), w.ScoresWithout(records, 7)
	for i := range want {
		if i == 7 {
			if got[i] != nil {
				t.Errorf("the record that panics has the score %v", got[i])
			}
		} else if !slices.Equal(got[i], want[i]) {
			t.Errorf("record %d has the score %v, want %v", i, got[i], want[i])
		}
	}
}

// programMode returns the mode of the posterior of all records and the inverse curvature there, by
// Newton's method.
func (w *world) programMode(t testing.TB, from []float64) ([]float64, *mat.SymDense) {
	t.Helper()
	likelihood, d := w.gradient(t), w.model.Dim()
	gradient := func(theta []float64) []float64 {
		g := likelihood(theta)
		w.model.Program().LogPrior(theta, g)
		return g
	}
	theta, cov := slices.Clone(from), mat.NewSymDense(d, nil)
	for range 30 {
		curvature := mat.NewSymDense(d, nil)
		for i := range d {
			up, down := slices.Clone(theta), slices.Clone(theta)
			h := 1e-5 * math.Max(1e-3, math.Abs(theta[i]))
			up[i] += h
			down[i] -= h
			a, b := gradient(up), gradient(down)
			for j := range i + 1 {
				curvature.SetSym(i, j, (b[j]-a[j])/(2*h))
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(curvature) {
			t.Fatal("the curvature of the pooled records is not positive definite")
		}
		var move mat.VecDense
		check(t, chol.SolveVecTo(&move, mat.NewVecDense(d, gradient(theta))))
		for i := range theta {
			theta[i] += move.AtVec(i)
		}
		check(t, chol.InverseTo(cov))
	}
	return theta, cov
}

// With almost no noise the posterior is near that of the pooled records. Its sds may be a little
// larger, because they allow for the clips.
func TestProgramsWithoutNoise(t *testing.T) {
	for _, name := range some("logistic", "survival", "curve", "overdispersed") {
		if name == "apart" || name == "intercepts" {
			continue // their posteriors are far from normal: see TestJointIsExact
		}
		t.Run(name, func(t *testing.T) {
			w := programs[name].world(t, 2000, 1e-3, 3)
			state := w.play(t, 1e-3, 3)
			mean, cov := state.Posterior()
			mode, spread := w.programMode(t, w.truth)
			for i, m := range mode {
				sd := math.Sqrt(spread.At(i, i))
				if off, ratio := math.Abs(mean[i]-m)/sd, math.Sqrt(cov.At(i, i))/sd; off > 0.5 || ratio < 0.85 || ratio > 1.5 {
					t.Errorf("coordinate %d is %.4g ± %.3g, and %.4g ± %.3g of the pooled records", i, mean[i], sd*ratio, m, sd)
				}
			}
			if !state.Arrived() {
				t.Error("the rounds have not arrived")
			}
		})
	}
}

// If the noise hides all records, the posterior of a program is near its prior.
func TestProgramsInNothingButNoise(t *testing.T) {
	for _, name := range []string{"ordered", "intercepts"} {
		w := programs[name].world(t, 200, 1e6, 1)
		want, prior := w.Begin().Posterior()
		mean, cov := w.play(t, 1e6, 1).Posterior()
		for i := range mean {
			sd := math.Sqrt(prior.At(i, i))
			if off, ratio := math.Abs(mean[i]-want[i])/sd, math.Sqrt(cov.At(i, i))/sd; off > 0.05 || ratio < 0.95 || ratio > 1.05 {
				t.Errorf("%s: coordinate %d is %.4g ± %.3g, in the prior %.4g ± %.3g", name, i, mean[i], sd*ratio, want[i], sd)
			}
		}
	}
}

// In the studies that have arrived, enough 90 % intervals contain the truth. With FEDPVI_LONG every
// program is played 40 times.
func TestProgramsHoldTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of statistics")
	}
	names, replications := some("logistic", "ordered", "survival", "overdispersed"), uint64(2)
	if os.Getenv("FEDPVI_LONG") != "" {
		replications = 40
	}
	const multiplier = 3.73 // noise multiplier for ε = 1 at δ = 1e-5
	var all, coordinates float64
	for _, name := range names {
		var held, total, squares, astray float64
		for seed := range replications {
			w := programs[name].world(t, 2000, multiplier, 10_000+seed)
			state := w.play(t, multiplier, 10_000+seed)
			if !state.Arrived() {
				astray++ // a note beside it states that its intervals may miss the truth
				continue
			}
			mean, cov := state.Posterior()
			for i, m := range mean {
				z := (m - w.truth[i]) / math.Sqrt(cov.At(i, i))
				squares += z * z
				if total++; math.Abs(z) < 1.6448536 {
					held++
				}
			}
		}
		if w := programs[name]; strings.Contains(w.program, "tau * z") {
			t.Logf("%-10s intervals of 90 %% hold %.3f of %.0f truths, and a remark says that they may not", name, held/total, total)
			continue
		}
		all, coordinates = all+held, coordinates+total
		t.Logf("%-10s intervals of 90 %% hold %.3f of %.0f truths; rms %.2f sds; %.0f studies have not arrived", name, held/total, total, math.Sqrt(squares/total), astray)
		if rms := math.Sqrt(squares / total); rms > 1.25 && replications > 10 || rms > 2 {
			t.Errorf("%s: the rms of (mean − truth)/sd is %.2f", name, rms)
		}
	}
	if share := all / coordinates; share < 0.85 {
		t.Errorf("intervals of 90 %% hold %.3f of the truths", share)
	}
}

// When θ changes, a sum of clipped scores changes less than an unclipped one. The predicted ratio of
// the two changes agrees with the ratio for drawn outcomes.
func TestResponse(t *testing.T) {
	least := 1.0
	for _, seed := range []uint64{107, 118, 176} {
		s := programs["intercepts"].world(t, 2000, 3.73, seed).play(t, 3.73, seed)
		for i := range s.Dim() {
			predicted, drawn := s.Response(i, 8)
			least = min(least, drawn)
			if math.Abs(predicted-drawn) > 0.15 { // a group has few records whose outcomes differ between draws
				t.Errorf("seed %d, coordinate %d: the predicted response is %.2f of the one without a clip, and that of drawn outcomes %.2f", seed, i, predicted, drawn)
			}
		}
	}
	if least > 0.75 {
		t.Errorf("the clip lowers no response below %.2f of the one without a clip", least)
	}
}

// With columns in years and metres, the posterior means differ from those of the pooled records by
// about the stated sds.
func TestRawUnits(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		t.Skip("40 studies of 10,000 records")
	}
	const seeds, records, multiplier = 40, 10_000, 3.73 // the noise multiplier for ε = 1 at δ = 1e-5
	var squares, coordinates, width float64
	for seed := range uint64(seeds) {
		w := programs["raw"].world(t, records, multiplier, 10_000+seed)
		mean, cov := w.play(t, multiplier, 10_000+seed).Posterior()
		pooled, spread := w.programMode(t, w.truth)
		for i, m := range mean {
			squares += (m - pooled[i]) * (m - pooled[i]) / cov.At(i, i)
			width += math.Log(cov.At(i, i)/spread.At(i, i)) / 2
			coordinates++
		}
	}
	rms := math.Sqrt(squares / coordinates)
	t.Logf("the rms of (mean − pooled mean)/sd is %.2f; sds are %.1f times those of the pooled records", rms, math.Exp(width/coordinates))
	if rms > 1.2 {
		t.Errorf("the rms of (mean − pooled mean)/sd is %.2f", rms)
	}
}

// Multiplies reports a product of parameters only if the density of records depends on it.
func TestProgramsThatMultiply(t *testing.T) {
	for name, s := range programs {
		m, err := fit.New(s.study(t, 200))
		check(t, err)
		if got, want := m.Multiplies(), name == "apart"; got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for _, f := range formulas.Bank {
		if got, want := formulaWorld(t, f, 10, 1, 1).model.Multiplies(), f.Name == "monotonic"; got != want {
			t.Errorf("%s: %t", f.Text, got)
		}
	}
}

// A covariate in metres and in kilometres leads to the same posterior, if the priors have the same
// width.
func TestUnitsOfAColumn(t *testing.T) {
	raw := programs["raw"]
	scaled := raw
	scaled.columns = strings.Replace(raw.columns, "[0, 9000]", "[0, 9]", 1)
	scaled.program = strings.Replace(raw.program, "c ~ normal(0, 0.01)", "c ~ normal(0, 10)", 1)
	draw := raw.draw
	scaled.draw = func(r *rand.Rand) ([]float64, func() []float64) {
		truth, record := draw(r)
		return truth, func() []float64 {
			row := record()
			row[2] /= 1000
			return row
		}
	}
	mean, cov := raw.world(t, 2000, 3.73, 1).play(t, 3.73, 1).Posterior()
	other, wide := scaled.world(t, 2000, 3.73, 1).play(t, 3.73, 1).Posterior()
	for i, unit := range []float64{1, 1, 1000, 1} {
		sd := math.Sqrt(cov.At(i, i))
		if gap, ratio := math.Abs(other[i]/unit-mean[i])/sd, math.Sqrt(wide.At(i, i))/unit/sd; gap > 1e-3 || math.Abs(ratio-1) > 1e-3 {
			t.Errorf("coordinate %d is %.6g ± %.6g in metres, and %.6g ± %.6g in kilometres", i, mean[i], sd, other[i]/unit, sd*ratio)
		}
	}
}

// As a program and as a family, a regression has nearly the same posterior. A program also releases
// margins of its outcome, and its curvature averages over eight outcomes of a record.
func TestProgramOfARegression(t *testing.T) {
	twin := scripted{
		columns: numericColumn("x0", -1, 1) + numericColumn("x1", -1, 1) + numericColumn("x2", -1, 1) + numericColumn("x3", -1, 1) +
			"[[column]]\nname = \"g\"\ntype = \"categorical\"\nlevels = [\"a\", \"b\", \"c\"]\n[[column]]\nname = \"y\"\n" + logistic.outcome + "\n",
		data: `gb = { column = "g", is = "b" }, gc = { column = "g", is = "c" }, sick = { column = "y", is = "yes" }`,
		program: `data { int N; array[N] int<lower=0, upper=1> sick; vector[N] x0; vector[N] x1; vector[N] x2; vector[N] x3; vector[N] gb; vector[N] gc; }
parameters { vector[7] b; }
model { b ~ normal(0, 1); sick ~ bernoulli_logit(b[1] + b[2] * x0 + b[3] * x1 + b[4] * x2 + b[5] * x3 + b[6] * gb + b[7] * gc); }`,
	}
	const multiplier = 1.0
	var ratio, gap, coordinates float64
	for seed := range uint64(2) {
		w := logistic.world(t, multiplier, 10_000+seed)
		mean, cov := w.play(t, multiplier, seed).Posterior()
		records := new(shard.Records)
		for i := range w.records.Len() {
			x, y := w.records.Record(i)
			records.Append([]float64{x[1], x[2], x[3], x[4], x[5] + 2*x[6], y})
		}
		twin.draw = func(*rand.Rand) ([]float64, func() []float64) {
			return w.truth, func() []float64 { return slices.Repeat([]float64{0}, 6) }
		}
		v := twin.world(t, w.records.Len(), multiplier, 10_000+seed)
		v.records = shard.Design(v.model.Study, records)
		other, wide := v.play(t, multiplier, seed).Posterior()
		for i := range mean {
			ratio += math.Log(wide.At(i, i)/cov.At(i, i)) / 2
			gap += (other[i] - mean[i]) * (other[i] - mean[i]) / (cov.At(i, i) + wide.At(i, i))
			coordinates++
		}
	}
	ratio, gap = math.Exp(ratio/coordinates), math.Sqrt(gap/coordinates)
	if ratio < 0.85 || ratio > 1.2 || gap > 1 {
		t.Errorf("sds of a program are %.2f times those of its regression, and means differ by %.2f sds (rms)", ratio, gap)
	}
}
