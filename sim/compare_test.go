package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/study"
)

const comparedStudy = `
study = { version = 2, name = "compared" }
table = { PERSON }
privacy = { unit = "record", epsilon = 2.0, delta = 1e-6 }
model = { MODEL }
inference = { rounds = 8 }
federation = { nominal_records = 4000, opens = "sums", colluders = 1 }
compare = { held_out = 0.2, clip = [-5, 2] }
simulation = { clients = 5, data = ["records.csv"] }
column = [
  { name = "age", type = "numeric", bounds = [20, 100] },
  { name = "sex", type = "categorical", levels = ["f", "m"] },
  { name = "pressure", type = "numeric", bounds = [70, 230], outside = "clamp" },
]
`

func writeCompared(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(10_003, 1))
	var file strings.Builder
	file.WriteString("who,age,sex,pressure\n")
	for i := range 20_000 {
		age, sex := 20+80*r.Float64(), r.IntN(2)
		fmt.Fprintf(&file, "p%d,%.1f,%c,%.1f\n", i/2, age, "fm"[sex], 90+.9*age+6*float64(sex)+16*r.NormFloat64())
	}
	writeFile(t, "records.csv", file.String())
}

func compared(t *testing.T, model string, seed uint64, overrides ...study.Override) (*Play, *Result) {
	t.Helper()
	person := ""
	for _, o := range overrides {
		if strings.Contains(o.Value, "person") {
			person = `person = "who"`
		}
	}
	text := strings.NewReplacer("MODEL", model, "PERSON", person).Replace(comparedStudy)
	st := parse(t, "compared.toml", text, overrides...)
	play := prepare(t, st, Options{StudyFile: "compared.toml", Seed: seed, Workers: 1})
	r := run(t, play)
	return play, r
}

const (
	withAge    = `family = "linear", outcome = "pressure", terms = ["age", "sex"], noise_sd = "learned"`
	withoutAge = `family = "linear", outcome = "pressure", terms = ["sex"], noise_sd = "learned"`
)

// The reported cost must be the ε of the study. The interval for the number of held-out records
// must agree with the true number, apart from the randomness of the choice.
func TestHeldOutIsScored(t *testing.T) {
	writeCompared(t)
	of := func(key, value string) study.Override { return study.Override{Key: key, Value: value} }
	for name, c := range map[string]struct {
		model     string
		overrides []study.Override
		records   float64
	}{
		"sums":     {withAge, nil, 4000},
		"messages": {withAge, []study.Override{of("federation.opens", `"messages"`), of("federation.colluders", "0")}, 4000},
		"replace":  {withAge, []study.Override{of("privacy.adjacency", `"replace-one"`)}, 4000},
		"persons":  {withAge, []study.Override{of("privacy.unit", `"person"`), of("privacy.rows_per_person", "2")}, 4000},
		"tables":   {withAge, []study.Override{of("describe.share", "0.1")}, 4000},
		"formula":  {`formula = "pressure ~ age + sex", family = "gaussian"`, []study.Override{of("compare.clip", "[-9, -2]")}, 4000},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := compared(t, c.model, 10_001, c.overrides...)
			s := r.HeldOut
			if s == nil || s.Clients != 5 {
				t.Fatalf("no scores of five clients: %+v", s)
			}
			// The number of held-out persons is random, so it adds to the error that the noise
			// causes.
			slack := 4 * math.Sqrt(2*.8*c.records)
			if half := (s.Records.High - s.Records.Low) / 2; math.Abs(s.Records.Estimate-c.records) > 2*half+slack || half > c.records/2 {
				t.Errorf("%+v records, want %g", s.Records, c.records)
			}
			if e := r.Privacy.Promise.Epsilon; e > 2.0001 || e < 1.99 || r.Privacy.Releases != 8 {
				t.Errorf("the study costs ε = %g in %d releases, want 2 in 8", e, r.Privacy.Releases)
			}
			if s.Mean.IntervalOnly || s.Mean.Low < s.Low || s.Mean.High > s.High || !(s.MeanSE > 0) {
				t.Errorf("%+v", s)
			}
			if name == "tables" {
				// The tables include the held-out records.
				if n := r.Tables.Groups[0].Records; math.Abs(n.Estimate-20_000) > n.High-n.Low {
					t.Errorf("the tables have %v records, want 20000", n)
				}
			}
		})
	}
}

// Over a bank of studies, the model with the column age must score better, because the outcome
// depends on age. The estimated elpd must agree with the mean log density of all records, within
// its standard error: a fit with few parameters predicts them as well as it predicts held-out
// records.
func TestHeldOutScoresOrderModels(t *testing.T) {
	writeCompared(t)
	const seeds = 6
	var errors float64
	check := func(play *Play, r *Result) *describe.Scored {
		p := play.Federation.Protocol
		var sum, n float64
		for _, s := range play.Federation.Shards {
			predictions, err := p.Model().Predict(s, p.Family(), r.Natural)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range predictions {
				sum, n = sum+min(max(one.LogDensity, r.HeldOut.Low), r.HeldOut.High), n+1
			}
		}
		z := (r.HeldOut.Mean.Estimate - sum/n) / r.HeldOut.MeanSE
		errors += z * z / (2 * seeds)
		return r.HeldOut
	}
	for seed := range uint64(seeds) {
		with, without := check(compared(t, withAge, 10_001+seed)), check(compared(t, withoutAge, 20_001+seed))
		difference, se := with.Mean.Estimate-without.Mean.Estimate, math.Hypot(with.MeanSE, without.MeanSE)
		t.Logf("with age %.3f ± %.3f, without %.3f ± %.3f", with.Mean.Estimate, with.MeanSE, without.Mean.Estimate, without.MeanSE)
		if difference < 2*se {
			t.Errorf("seed %d: the difference is %.3f with standard error %.3f", seed, difference, se)
		}
	}
	if rms := math.Sqrt(errors); rms > 1.5 || rms < .5 {
		t.Errorf("the rms error of an elpd per record is %.2f standard errors", rms)
	}
}
