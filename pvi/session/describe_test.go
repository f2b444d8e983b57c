package session

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// Describe uses the scale from the scale phase. Intervals in natural units come first, and include
// the privacy noise.
func TestDescribe(t *testing.T) {
	document := `
study = { version = 1, name = "s" }
inference = { rounds = 1, solver = "dp-svi" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 1000, max_records = 2000 }
model = { family = "logistic", outcome = "c", positive = "q", terms = ["u"], standardise = "private" }
column = [
  { name = "u", type = "numeric", bounds = [0, 1000], unit = "years" },
  { name = "c", type = "categorical", levels = ["p", "q"] },
]`
	st, err := study.Parse("t.toml", []byte(document))
	check(t, err)
	r := &Result{
		Mean: []float64{.5, 2}, SD: []float64{.1, .2}, Covariance: [][]float64{{.01, 0}, {0, .04}},
		NoiseAware: &NoiseAware{Method: "one-step", Mean: []float64{.4, 1.5}, SD: []float64{.3, .5}, Covariance: [][]float64{{.09, .06}, {.06, .25}}},
		Scale:      []scale.Column{{Column: "u", Bounds: study.Bounds{Low: 40, High: 60}}},
		Notes:      []string{"a note"},
	}
	p, err := Describe(st, r)
	check(t, err)
	// On the model's scale, column u is (u − 50)/10. The slope per unit of u is therefore .15, and the
	// intercept is .4 − 5·1.5.
	intercept, slope := p.Marginals[0], p.Marginals[1]
	sd := math.Sqrt(.09 - 2*5*.06 + 25*.25)
	for _, c := range []struct{ got, want float64 }{
		{intercept.Natural.Mean, -7.1},
		{intercept.Natural.SD, sd},
		{intercept.Low, -7.1 - 1.959963984540054*sd},
		{slope.Natural.Mean, .15},
		{slope.Natural.SD, .05},
		{slope.High, .15 + 1.959963984540054*.05},
		{slope.NoiseAware.Upper, 1.5 + 1.959963984540054*.5},
		{slope.NoiseAware.Q95, 1.5 + 1.6448536269514722*.5},
		{slope.Interval.Mean, 2},
		{slope.Interval.Lower, 2 - 1.959963984540054*.2},
		{*slope.NoiseSD, math.Sqrt(.25 - .04)},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%.15g, want %.15g", c.got, c.want)
		}
	}
	text, err := json.Marshal(p)
	check(t, err)
	for _, want := range []string{
		`{"marginals":[{"name":"intercept","log":false,"natural_mean":-7.1,`, `"unit":"log odds per u [years]"`, `"noise_sd":0.458257569495584,"mean":2,`,
		`"natural_map":[{"from":[0,1],"weights":[1,-5],"shift":0}`, `"result":{`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	var b strings.Builder
	check(t, p.Table(&b, true))
	for _, want := range []string{"odds ratio per u [years]  ", "1.162", "data sd", "a note", "by one-step"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	st, err = study.Parse("t.toml", []byte(strings.Replace(document, "logistic", "probit", 1)))
	check(t, err)
	p, err = Describe(st, r)
	check(t, err)
	if err := p.Table(&b, true); !errors.Is(err, words.ErrNoRatio) {
		t.Errorf("ratios of a probit regression: %v", err)
	}
	r.Mean = r.Mean[:1]
	if _, err := Describe(st, r); err == nil {
		t.Error("a result of another study is described")
	}
}
