package sim

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/words"
)

func runProgram(t *testing.T, name string, settings ...string) *Play {
	t.Helper()
	file := filepath.Join("..", "experiments", "programs", name+".toml")
	play := prepare(t, load(t, file, settings), Options{StudyFile: file, Seed: 1})
	run(t, play)
	return play
}

// checkPooled fails the test if a posterior mean is more than within sds away from the mean of the
// pooled fit. It returns the moments of the pooled fit.
func checkPooled(t *testing.T, play *Play, within float64) (pooled []float64, cov *mat.SymDense) {
	t.Helper()
	pooled, cov = moments(t, play.Reference.family, play.Reference.Natural)
	mean, _ := moments(t, play.Federation.Protocol.Family(), play.Posterior())
	for i, m := range mean {
		if d := math.Abs(m-pooled[i]) / math.Sqrt(cov.At(i, i)); !(d <= within) {
			t.Errorf("coordinate %d: %g sds from the pooled fit", i, d)
		}
	}
	return pooled, cov
}

// checkMode compares a pooled fit with a normal approximation at the mode. A mean may be up to
// apart sds away from the mode, and an sd may differ by the fraction wider.
func checkMode(t *testing.T, pooled []float64, cov *mat.SymDense, mode, sds []float64, apart, wider float64) {
	t.Helper()
	for i, m := range pooled {
		sd := math.Sqrt(cov.At(i, i))
		if d := math.Abs(m-mode[i]) / sds[i]; !(d <= apart) || !(math.Abs(sd/sds[i]-1) <= wider) {
			t.Errorf("coordinate %d: %g ± %g, at the mode %g ± %g", i, m, sd, mode[i], sds[i])
		}
	}
}

// A patient is a row of experiments/programs/cohort.csv.
type patient struct {
	age, days, relapsed float64
	treated             float64
	years, infections   float64
	pain                int
}

func cohort(t *testing.T) []patient {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "experiments", "programs", "cohort.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []patient
	for _, row := range rows[1:] {
		number := func(k int) float64 {
			x, err := strconv.ParseFloat(row[k], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		p := patient{age: (number(0) - 52) / 15, days: number(3), relapsed: number(4), years: number(5), infections: number(6)}
		if row[1] == "new" {
			p.treated = 1
		}
		p.pain = map[string]int{"none": 0, "mild": 1, "strong": 2, "severe": 3}[row[7]]
		all = append(all, p)
	}
	return all
}

// relapse is the log posterior density of relapse.toml, written by hand. The first three parameters
// are log hazards. Their prior has sd 2.5 and mean −2.95, which is minus the midpoint of the range
// of log days, from log 1 to log 365.
func relapse(all []patient) func(theta []float64) float64 {
	return func(theta []float64) float64 {
		lp := 0.
		for k, x := range theta {
			mean := 0.
			if k < 3 {
				mean = -2.95
			}
			lp -= (x - mean) * (x - mean) / (2 * 2.5 * 2.5)
		}
		for _, p := range all {
			eta := theta[3]*p.age + theta[4]*p.treated
			cuts := []float64{0, 60, 180, math.Inf(1)}
			for j := range 3 {
				if spent := min(p.days, cuts[j+1]) - cuts[j]; spent > 0 {
					lp -= spent * math.Exp(theta[j]+eta)
					if p.days <= cuts[j+1] {
						lp += p.relapsed * (theta[j] + eta)
					}
				}
			}
		}
		return lp
	}
}

// pain is the log posterior density of pain.toml, written by hand. The parameters are the
// logarithms of the distances between neighbouring cut points.
func pain(all []patient) func(theta []float64) float64 {
	below := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	return func(theta []float64) float64 {
		cuts := []float64{math.Inf(-1), theta[0], theta[0] + math.Exp(theta[1]), 0, math.Inf(1)}
		cuts[3] = cuts[2] + math.Exp(theta[2])
		lp := theta[1] + theta[2]
		for _, c := range cuts[1:4] {
			lp -= c * c / 18
		}
		for _, b := range theta[3:] {
			lp -= b * b / (2 * 2.5 * 2.5)
		}
		for _, p := range all {
			eta := theta[3]*p.age + theta[4]*p.treated + theta[5]*p.age*p.treated
			lp += math.Log(below(cuts[p.pain+1]-eta) - below(cuts[p.pain]-eta))
		}
		return lp
	}
}

// Without privacy, three clients must find the pooled posterior. Its mean and sds must be close to
// the mode and the curvature of a log density written by hand.
func TestFormulaOfThreeClients(t *testing.T) {
	slow(t)
	all := cohort(t)
	for name, c := range map[string]struct {
		density func([]float64) float64
		start   []float64
		rounds  string
	}{
		"relapse": {relapse(all), []float64{-5, -5, -5, 0, 0}, "inference.rounds=30"},
		"pain":    {pain(all), []float64{-1, 0, 0, 0, 0, 0}, "inference.rounds=10"},
	} {
		t.Run(name, func(t *testing.T) {
			play := runProgram(t, name, append(NonPrivate, c.rounds)...)
			pooled, cov := checkPooled(t, play, .05)
			mode, sds := laplace(c.density, c.start)
			checkMode(t, pooled, cov, mode, sds, .1, .05)
			var b strings.Builder
			if err := words.Explain(&b, play.Federation.Protocol); err != nil || !strings.Contains(b.String(), "None comes from records") {
				t.Error(err, "the explanation has no formula")
			}
		})
	}
}

// laplace returns the mode of a log density, and the sds of the normal approximation there. It uses
// Newton's method with numerical derivatives.
func laplace(density func([]float64) float64, start []float64) (mode, sds []float64) {
	d, x := len(start), slices.Clone(start)
	const h = 1e-3
	// at returns the density at x after steps of length h. Each element of moves is the number of a
	// coordinate, counted from 1, and its sign gives the direction of the step.
	at := func(moves ...int) float64 {
		y := slices.Clone(x)
		for _, m := range moves {
			if m > 0 {
				y[m-1] += h
			} else {
				y[-m-1] -= h
			}
		}
		return density(y)
	}
	information := mat.NewSymDense(d, nil)
	for range 30 {
		gradient := mat.NewVecDense(d, nil)
		for i := 1; i <= d; i++ {
			gradient.SetVec(i-1, (at(i)-at(-i))/(2*h))
			for j := 1; j <= i; j++ {
				information.SetSym(i-1, j-1, -(at(i, j)-at(i, -j)-at(-i, j)+at(-i, -j))/(4*h*h))
			}
		}
		var step mat.VecDense
		if err := step.SolveVec(information, gradient); err != nil {
			break
		}
		largest := mat.Norm(&step, math.Inf(1))
		for i := range x {
			x[i] += step.AtVec(i) * min(1, 1/largest)
		}
		if largest < 1e-8 {
			break
		}
	}
	var cholesky mat.Cholesky
	var cov mat.SymDense
	if !cholesky.Factorize(information) || cholesky.InverseTo(&cov) != nil {
		return x, slices.Repeat([]float64{math.NaN()}, d)
	}
	for i := range d {
		sds = append(sds, math.Sqrt(cov.At(i, i)))
	}
	return x, sds
}
