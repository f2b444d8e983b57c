package scoring_test

import (
	"math"
	"strings"
	"testing"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/scoring"
)

// A Laplace density has no Hessian at its location. With almost no noise, the standard deviations
// are nevertheless those that follow from the Fisher information: s/√n for the intercept and for
// the coefficient of a column with variance 1, and 1/√n for log s.
func TestLaplaceHasItsInformation(t *testing.T) {
	const n = 1000
	w := programs["laplace"].world(t, n, 1e-3, 1)
	state := w.play(t, 1e-3, 1)
	mean, cov := state.Posterior()
	for i, m := range mean {
		want := 1 / math.Sqrt(n)
		if i < 2 {
			want *= math.Exp(w.truth[2])
		}
		if off, ratio := math.Abs(m-w.truth[i])/want, math.Sqrt(cov.At(i, i))/want; off > 3.5 || ratio < 0.85 || ratio > 1.2 {
			t.Errorf("coordinate %d is %.1f sds from the truth, and its sd is %.2f times that of the Fisher information", i, off, ratio)
		}
	}
	if !state.Arrived() {
		t.Error("the rounds have not arrived")
	}
}

// If the slope of a density jumps and its outcome cannot be drawn from the model, the study is
// refused.
func TestKinksWithoutOutcomesAreRefused(t *testing.T) {
	for text, refused := range map[string]bool{
		"target += sum(-fabs(y - a - b * x) / s) - N * log(s);":   true,
		"for (n in 1:N) y[n] ~ normal(a + b * fmax(x[n], a), s);": false,
		"y ~ double_exponential(a + b * x, s);":                   false,
	} {
		p := programs["laplace"]
		p.program = strings.Replace(p.program, "y ~ double_exponential(a + b * x, s);", text, 1)
		st := p.study(t, 1000)
		m, err := fit.New(st)
		check(t, err)
		_, err = scoring.NewProblem(st, m, 5, [32]byte{})
		if got := err != nil; got != refused || refused && !strings.Contains(err.Error(), "double_exponential") {
			t.Errorf("%s: the error is %v", text, err)
		}
	}
}
