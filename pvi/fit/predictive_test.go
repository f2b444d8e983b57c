package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const predictiveColumns = `
[study]
version = 2
name = "predictive"
[[column]]
name = "y"
type = "numeric"
bounds = [-100, 100]
[[column]]
name = "k"
type = "numeric"
bounds = [0, 5000]
[[column]]
name = "p"
type = "numeric"
bounds = [0, 100]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[privacy]
unit = "none"
[inference]
solver = "natural-gradient"
rounds = 5
intervals = "none"
[federation]
nominal_records = 10
[model]
`

// predictedFormulas has formulas without regressors, so that the coordinates of θ are the linear
// predictors of a record. density computes the log density of an outcome from these coordinates,
// independently of the model.
var predictedFormulas = []struct {
	formula, family string
	column          int
	ys              []float64
	density         func(y float64, theta []float64) float64
}{
	{"k ~ 1", "poisson", 1, []float64{0, 3, 40, 2000}, func(y float64, t []float64) float64 { return poissonLog(y, t[0]) }},
	{"y ~ 1, sigma ~ 1", "gaussian", 0, []float64{-3, .5, 2, 30}, func(y float64, t []float64) float64 {
		return distuv.Normal{Mu: t[0], Sigma: math.Exp(t[1])}.LogProb(y)
	}},
	{"k ~ 1, zi ~ 1", "zero_inflated_poisson", 1, []float64{0, 3, 40}, func(y float64, t []float64) float64 {
		other := poissonLog(y, t[0]) - math.Log1p(math.Exp(t[1]))
		if y == 0 {
			return floats.LogSumExp([]float64{-math.Log1p(math.Exp(-t[1])), other})
		}
		return other
	}},
	{"k ~ 1", "negbinomial", 1, []float64{0, 3, 200}, func(y float64, t []float64) float64 {
		size, mean := math.Exp(t[1]), math.Exp(t[0])
		var rising float64
		for j := range int(y) {
			rising += math.Log(size + float64(j))
		}
		return rising - logGamma(y+1) + y*(t[0]-math.Log(mean+size)) - size*math.Log1p(mean/size)
	}},
	{"p ~ 1", "hurdle_gamma", 2, []float64{0, .2, 8, 90}, func(y float64, t []float64) float64 {
		hurdle := math.Log1p(-1 / (1 + math.Exp(-t[2])))
		if y == 0 {
			return math.Log(1 / (1 + math.Exp(-t[2])))
		}
		shape := math.Exp(t[1])
		return hurdle + shape*(math.Log(shape)-t[0]) - logGamma(shape) + (shape-1)*math.Log(y) - shape*y*math.Exp(-t[0])
	}},
	{"y ~ 1", "student", 0, []float64{-3, .5, 30}, func(y float64, t []float64) float64 {
		return distuv.StudentsT{Mu: t[0], Sigma: math.Exp(t[1]), Nu: 1 + math.Exp(t[2])}.LogProb(y)
	}},
	{"g ~ 1", "categorical", 3, []float64{0, 1, 2}, func(y float64, t []float64) float64 {
		all := []float64{0, t[0], t[1]}
		return all[int(y)] - floats.LogSumExp(all)
	}},
	{"g ~ y", "cumulative", 3, []float64{0, 1, 2}, func(y float64, t []float64) float64 {
		cuts := []float64{math.Inf(-1), t[0], t[0] + math.Exp(t[1]), math.Inf(1)}
		return math.Log(1/(1+math.Exp(t[2]-cuts[int(y)+1])) - 1/(1+math.Exp(t[2]-cuts[int(y)])))
	}},
}

func logGamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

func poissonLog(y, eta float64) float64 { return y*eta - math.Exp(eta) - logGamma(y+1) }

// The test compares predictive densities under random posteriors with averages over many draws,
// computed by the functions density above. A difference of 5 standard errors has a probability
// below 1e-6. It skips densities for which even this many draws are too few. With three predictors,
// integration is less accurate.
func TestPredictFormulas(t *testing.T) {
	const draws, most, share = 100_000, .03, .8
	r := rand.New(rand.NewPCG(1, 2))
	checked, all := 0, 0
	for _, f := range predictedFormulas {
		m := predictiveModel(t, f.formula, f.family)
		slack := .004
		if m.Dim() > 2 {
			slack = .03
		}
		for _, sd := range []float64{.1, 1, 3, 8} {
			mean, root := randomNormal(r, m.Dim(), sd)
			got := predictions(t, m, f.column, f.ys, mean, root)
			logs := make([][]float64, len(f.ys))
			theta, z := mat.NewVecDense(m.Dim(), nil), mat.NewVecDense(m.Dim(), nil)
			for range draws {
				for i := range m.Dim() {
					z.SetVec(i, r.NormFloat64())
				}
				theta.MulVec(root, z)
				theta.AddVec(theta, mean)
				for i, y := range f.ys {
					logs[i] = append(logs[i], f.density(y, theta.RawVector().Data))
				}
			}
			for i, y := range f.ys {
				all++
				want, e := logMean(logs[i])
				if e > most {
					continue
				}
				checked++
				if off := math.Abs(got[i].LogDensity - want); !(off <= 5*e+slack) || got[i].Error > most {
					t.Errorf("%s (%s), sd %g, outcome %g: log density %.4f ± %.4f, want %.4f ± %.4f", f.formula, f.family, sd, y, got[i].LogDensity, got[i].Error, want, e)
				}
			}
		}
	}
	if checked < int(share*float64(all)) {
		t.Errorf("only %d of %d densities were checked", checked, all)
	}
}

// The test compares densities of counts that are much narrower than the posterior with sums over a
// fine grid.
func TestPredictNarrow(t *testing.T) {
	m := predictiveModel(t, "k ~ 1", "poisson")
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 40 {
		mean, sd, y := 12*r.Float64(), math.Exp(3*r.Float64()-1), math.Floor(math.Exp(8*r.Float64()))
		if n == 0 {
			mean, sd, y = 11.9, 8.1, 2000
		}
		got := predictions(t, m, 1, []float64{y}, mat.NewVecDense(1, []float64{mean}), mat.NewDense(1, 1, []float64{sd}))
		var logs []float64
		const step = 2e-4
		for z := -20.; z <= 20; z += step {
			logs = append(logs, distuv.UnitNormal.LogProb(z)+math.Log(step)+poissonLog(y, mean+sd*z))
		}
		if want := floats.LogSumExp(logs); !(math.Abs(got[0].LogDensity-want) <= .001) {
			t.Errorf("predictor %g ± %g, count %g: log density %.4f, want %.4f", mean, sd, y, got[0].LogDensity, want)
		}
	}
}

func predictiveModel(t *testing.T, formula, family string) *Model {
	t.Helper()
	st, err := study.Parse("test.toml", []byte(predictiveColumns+fmt.Sprintf("formula = %q\nfamily = %q\n", formula, family)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(st)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// randomNormal returns a random mean, and a random root of a covariance matrix. The first
// coordinate has the given standard deviation, and the others at most 1. If there are three
// coordinates, their correlations are moderate.
func randomNormal(r *rand.Rand, d int, sd float64) (mean *mat.VecDense, root *mat.Dense) {
	mean, root = mat.NewVecDense(d, nil), mat.NewDense(d, d, nil)
	for i := range d {
		mean.SetVec(i, r.NormFloat64()/2)
		for j := range i + 1 {
			root.Set(i, j, r.NormFloat64())
		}
		if d > 2 {
			root.Set(i, i, 3)
		}
		own := sd
		if i > 0 {
			own = min(sd, 1)
		}
		row := root.RawRowView(i)
		floats.Scale(own/floats.Norm(row, 2), row)
	}
	return mean, root
}

// predictions returns the predictions for records with the given values in a column. The posterior
// has the given mean and root of the covariance.
func predictions(t *testing.T, m *Model, column int, ys []float64, mean *mat.VecDense, root *mat.Dense) []Prediction {
	t.Helper()
	var cov mat.SymDense
	cov.SymOuterK(1, root)
	family := gaussian.Full(m.Dim())
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean.RawVector().Data, &cov); err != nil {
		t.Fatal(err)
	}
	records := new(shard.Records)
	for _, y := range ys {
		row := make([]float64, 4)
		row[0], row[column] = 1, y
		records.Append(row)
	}
	got, err := m.Predict(shard.Design(m.Study, records), family, natural)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// BenchmarkPredict measures the time for 256 records. BenchmarkAverage does the same for averages
// over draws, which are used for programs without linear predictors.
func BenchmarkPredict(b *testing.B) {
	benchmarkPredict(b, (*Model).Predict)
}

func BenchmarkAverage(b *testing.B) {
	benchmarkPredict(b, func(m *Model, s *shard.Shard, family gaussian.Family, natural []float64) ([]Prediction, error) {
		out := make([]Prediction, s.Len())
		return out, m.average(out, s, family, natural)
	})
}

func benchmarkPredict(b *testing.B, predict func(*Model, *shard.Shard, gaussian.Family, []float64) ([]Prediction, error)) {
	for _, f := range [][2]string{{"k ~ y + g", "poisson"}, {"y ~ g, sigma ~ g", "gaussian"}, {"y ~ g", "student"}, {"g ~ y", "cumulative"}} {
		b.Run(f[1], func(b *testing.B) {
			st, err := study.Parse("test.toml", []byte(predictiveColumns+fmt.Sprintf("formula = %q\nfamily = %q\n", f[0], f[1])))
			if err != nil {
				b.Fatal(err)
			}
			m, err := New(st)
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(5, 6))
			records := new(shard.Records)
			for range 256 {
				records.Append([]float64{r.NormFloat64(), float64(r.IntN(9)), r.Float64(), float64(r.IntN(3))})
			}
			s, family := shard.Design(st, records), gaussian.Full(m.Dim())
			mean, cov := make([]float64, m.Dim()), mat.NewSymDense(m.Dim(), nil)
			for i := range mean {
				cov.SetSym(i, i, .01)
			}
			natural := make([]float64, family.Size())
			if err := family.FromMoments(natural, mean, cov); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := predict(m, s, family, natural); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// For all kinds of models with linear predictors, the log density of a record computed from these
// predictors equals the one computed from θ.
func TestLinearPredictors(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	checked := 0
	for name := range models {
		m := newModel(t, name)
		p := m.predictors()
		if p == nil {
			continue
		}
		checked++
		s := sensible(m, 20, r)
		table, err := p.Load(s.Len(), m.columns(s))
		if err != nil {
			t.Fatal(err)
		}
		all, err := m.Load(s)
		if err != nil {
			t.Fatal(err)
		}
		theta, want := make([]float64, m.Dim()), make([]float64, s.Len())
		for i := range theta {
			theta[i] = r.NormFloat64() / 3
		}
		m.Program().LogDensities(want, theta, all)
		for i := range want {
			eta, got := make([]float64, p.Len()), make([]float64, 1)
			for k := range eta {
				sum := 0.
				constant := table.EachTerm(i, k, func(at int, weight float64) { sum += weight * theta[at] })
				eta[k] = sum + constant
			}
			table.Densities(got, i, eta)
			if !(math.Abs(got[0]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
				t.Errorf("%s, record %d: log density %g by predictors, %g by θ", name, i, got[0], want[i])
				break
			}
		}
	}
	if checked < len(models)-3 {
		t.Errorf("only %d of %d models have linear predictors", checked, len(models))
	}
}
