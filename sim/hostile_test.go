package sim

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// hostileStudy is a regression on 120 records of three clients. Each test case gives one setting or
// record an unusual value.
const hostileStudy = `
study = { version = 1, name = "hostile" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x", "z"] }
inference = { rounds = 4, steps = 5, solver = "dp-svi" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
simulation = { clients = 3, data = "records.csv" }
column = [
  { name = "x", type = "numeric", bounds = [0, 10] },
  { name = "z", type = "categorical", levels = ["a", "b", "c"] },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
`

// A row is a record of hostileStudy.
type row struct {
	x    float64
	z, y string
}

func ordinary(i int) row {
	x := 5 + 5*math.Sin(float64(i))
	y := "no"
	if x+4*math.Sin(float64(7*i)) > 5 {
		y = "yes"
	}
	return row{x, string("abc"[i%3]), y}
}

// playRows runs the study in source with the given overrides. Record i is of(i).
func playRows(t *testing.T, source string, records int, of func(i int) row, overrides ...study.Override) (*Result, error) {
	t.Helper()
	text := strings.Builder{}
	text.WriteString("x,z,y\n")
	for i := range records {
		r := of(i)
		fmt.Fprintf(&text, "%g,%s,%s\n", r.x, r.z, r.y)
	}
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "records.csv"), text.String())
	st, err := study.Parse("hostile.toml", []byte(source), overrides...)
	if err != nil {
		return nil, err
	}
	play, err := NewPlay(st, Options{StudyFile: filepath.Join(folder, "hostile.toml"), Seed: 1, Workers: 1})
	if err != nil {
		return nil, err
	}
	result, err := play.Run(context.Background(), func(Status) error { return nil })
	if err == nil && st.Privacy.Unit != study.None {
		checkSpent(t, play, result)
	}
	return result, err
}

// checkSpent checks that every site has made as many releases as planned, and that the reported ε
// covers their cost and does not exceed the study's ε.
func checkSpent(t *testing.T, play *Play, r *Result) {
	t.Helper()
	p := play.Federation.Protocol
	for _, site := range play.Federation.Sites {
		cost, err := p.Cost(p.Views()[0], p.Study().Privacy.Adjacency, site.Releases())
		if err != nil {
			t.Fatal(err)
		}
		if site.Releases() != p.Releases() || r.Privacy.Epsilon < cost.Epsilon {
			t.Errorf("site %s released %d times at ε = %g, the result has ε = %g", site.ID(), site.Releases(), cost.Epsilon, r.Privacy.Epsilon)
		}
	}
	if target := p.Study().Privacy.Epsilon; target > 0 && p.Sound() && r.Privacy.Epsilon > target {
		t.Errorf("ε = %g is above the target %g", r.Privacy.Epsilon, target)
	}
}

// finiteResult fails the test unless the posterior in a result is proper and finite.
func finiteResult(t *testing.T, r *Result) {
	t.Helper()
	for _, m := range r.Posterior {
		for _, x := range []float64{m.Mean, m.SD, m.Lower, m.Upper} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("coefficient %s is %+v", m.Name, m)
				break
			}
		}
		if !(m.SD > 0) {
			t.Errorf("coefficient %s has sd %g", m.Name, m.SD)
		}
	}
	if math.IsNaN(*r.KL) || *r.KL < 0 {
		t.Errorf("the divergence from the pooled fit is %g", *r.KL)
	}
}

func replaced(key, value string) study.Override { return study.Override{Key: key, Value: value} }

// Each case must end in a clear error, or in a finite posterior whose reported cost is complete.
func TestPrivateStepsOnBadInput(t *testing.T) {
	slow(t)
	separable := func(i int) row {
		r := ordinary(i)
		if r.y = "no"; r.x > 5 {
			r.y = "yes"
		}
		return r
	}
	constant := func(i int) row { r := ordinary(i); r.x, r.z = 3, "b"; return r }
	oneClass := func(i int) row { r := ordinary(i); r.y = "yes"; return r }
	outside := func(i int) row { r := ordinary(i); r.y = "maybe"; return r }
	beyond := func(i int) row { r := ordinary(i); r.x = 11; return r }
	notANumber := func(i int) row { r := ordinary(i); r.x = math.NaN(); return r }
	quiet := replaced("privacy", `{ unit = "record", noise_multiplier = 0.01, delta = 1e-5 }`)
	noisy := replaced("privacy", `{ unit = "record", noise_multiplier = 2.0, delta = 1e-5 }`)
	epsilon := func(e string) study.Override { return replaced("privacy.epsilon", e) }
	clip := func(c string) study.Override { return replaced("privacy.clip", c) }
	descent := func(rest string) study.Override {
		return replaced("inference", `{ rounds = 4, steps = 5, solver = "dp-svi", `+rest+` }`)
	}
	for _, c := range []struct {
		name    string
		records int
		of      func(i int) row
		with    []study.Override
		want    string // text of the error; empty if the run must yield a posterior
	}{
		{"separable", 120, separable, nil, ""},
		{"separable, hardly any noise", 120, separable, []study.Override{quiet}, ""},
		{"constant columns", 120, constant, []study.Override{quiet}, ""},
		{"one class", 120, oneClass, nil, ""},
		{"one class, hardly any noise", 120, oneClass, []study.Override{quiet}, ""},
		{"outcome outside its support", 120, outside, nil, "levels that the study declares"},
		{"column beyond its bounds", 120, beyond, nil, "bounds"},
		{"column that is no number", 120, notANumber, nil, "x"},
		{"one record for three clients", 1, ordinary, nil, ""},
		{"one record, batches of a share", 1, ordinary, []study.Override{descent("sampling_rate = 0.01"), noisy}, ""},
		{"fewer records than a batch", 5, ordinary, []study.Override{
			descent(`sampling = "published", sampling_rate = 0.5`), replaced("federation.nominal_records", "40"), replaced("privacy", `{ unit = "record", adjacency = "replace-one", noise_multiplier = 2.0, delta = 1e-5 }`),
		}, ""},
		{"no client with a whole batch", 2, ordinary, []study.Override{
			descent(`sampling = "without-replacement", sampling_rate = 0.1`), replaced("federation.nominal_records", "40"), replaced("privacy", `{ unit = "record", adjacency = "replace-one", noise_multiplier = 2.0, delta = 1e-5 }`),
		}, ""},
		{"adam, 1e3", 120, ordinary, []study.Override{descent("step_size = 1e3")}, "smaller inference.step_size"},
		{"adam, 1e300", 120, ordinary, []study.Override{descent("step_size = 1e300")}, "smaller inference.step_size"},
		{"joint adam, 1e300", 120, ordinary, []study.Override{descent(`gradients = "joint", step_size = 1e300`)}, "smaller inference.step_size"},
		{"adagrad, 1e3", 120, ordinary, []study.Override{descent(`optimiser = "adagrad", step_size = 1e3`)}, "smaller inference.step_size"},
		{"sgd, 1e3", 120, ordinary, []study.Override{descent(`optimiser = "sgd", step_size = 1e3`)}, "smaller inference.step_size"},
		{"sgd, 1e300", 120, ordinary, []study.Override{descent(`optimiser = "sgd", step_size = 1e300`)}, "smaller inference.step_size"},
		{"natural, 1e3", 120, ordinary, []study.Override{descent(`optimiser = "natural", step_size = 1e3`)}, ""},
		{"natural, 1e300", 120, ordinary, []study.Override{descent(`optimiser = "natural", step_size = 1e300`)}, ""},
		{"a clip of 1e-12", 120, ordinary, []study.Override{clip("1e-12")}, ""},
		{"a clip of 1e-300", 120, ordinary, []study.Override{clip("1e-300")}, "privacy.clip"},
		{"a clip of 1e6", 120, ordinary, []study.Override{clip("1e6")}, ""},
		{"a clip of 1e12, sgd", 120, ordinary, []study.Override{clip("1e12"), descent(`optimiser = "sgd", step_size = 1e-3`)}, "smaller inference.step_size"},
		{"a clip of 1e300", 120, ordinary, []study.Override{clip("1e300")}, "privacy.clip"},
		{"ε of 0.01", 120, ordinary, []study.Override{epsilon("0.01")}, ""},
		{"ε of 1e-4, steps of sgd", 120, ordinary, []study.Override{epsilon("1e-4"), descent(`optimiser = "sgd", step_size = 1e-3`)}, "smaller inference.step_size"},
		{"ε of 1e-4", 120, ordinary, []study.Override{epsilon("1e-4")}, ""},
		{"ε of 1e-12", 120, ordinary, []study.Override{epsilon("1e-12")}, ""},
		{"ε of 1000", 120, ordinary, []study.Override{epsilon("1000.0")}, ""},
		{"ε of 1e12", 120, ordinary, []study.Override{epsilon("1e12")}, "lower epsilon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := playRows(t, hostileStudy, c.records, c.of, c.with...)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "":
				finiteResult(t, r)
				t.Logf("KL %.3g; %s %.3g ± %.3g", *r.KL, r.Posterior[1].Name, r.Posterior[1].Mean, r.Posterior[1].SD)
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want an error with %q", err, c.want)
			default:
				t.Log(err)
			}
		})
	}
}
