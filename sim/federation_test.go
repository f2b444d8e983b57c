package sim

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

var partitions = map[string][]string{
	"balanced":         nil,
	"by size":          {"simulation.partition=by-size", "simulation.size_skew=0.9"},
	"label skew":       {"simulation.partition=label-skew", "simulation.size_skew=0.7", "simulation.label_skew=-0.8", "simulation.label_threshold=10"},
	"all of one label": {"simulation.partition=label-skew", "simulation.size_skew=0.75", "simulation.label_skew=1", "simulation.label_threshold=10"},
	"by column":        {"simulation.partition=column", "simulation.column=sex", "simulation.clients="},
}

var schedules = map[string][]string{
	"synchronous":              nil,
	"synchronous, damped":      {"inference.damping=0.4", "inference.rounds=80"},
	"synchronous, tied":        {"inference.factors=tied", "inference.damping=0.5", "inference.rounds=70"},
	"sequential":               {"inference.schedule=sequential"},
	"sequential, damped":       {"inference.schedule=sequential", "inference.damping=0.6", "inference.rounds=40"},
	"asynchronous":             {"inference.schedule=asynchronous"},
	"asynchronous, damped":     {"inference.schedule=asynchronous", "inference.damping=0.6", "inference.rounds=40"},
	"asynchronous, decreasing": {"inference.schedule=asynchronous", "inference.damping=1.0", "inference.damping_schedule=harmonic"},
}

// Without privacy, the federation must find the pooled posterior with every schedule and partition.
func TestNonPrivateIsPooled(t *testing.T) {
	slow(t)
	for part, cut := range partitions {
		for schedule, how := range schedules {
			t.Run(part+", "+schedule, func(t *testing.T) {
				settings := slices.Concat(NonPrivate, []string{"federation.min_clients=", "federation.colluders="}, cut, how)
				st, path := experiment(t, "abalone/rings.toml", settings...)
				result := run(t, newPlay(t, st, path, 1))
				if gap := largestGap(result); gap > 1e-9 {
					t.Errorf("federated and pooled posterior differ by %.2g", gap)
				}
				if result.Rejected > 0 {
					t.Errorf("%d outcomes were rejected", result.Rejected)
				}
			})
		}
	}
}

// largestGap compares the means and sds of the posterior with the reference, and returns the
// largest relative difference. Differences between means near zero are in units of the sd.
func largestGap(r *Result) float64 {
	var gap float64
	for i, m := range r.Posterior {
		n := r.NonPrivate[i]
		gap = max(gap, math.Abs(m.Mean-n.Mean)/max(math.Abs(n.Mean), n.SD), math.Abs(m.SD-n.SD)/n.SD)
	}
	return gap
}

// The mean-field posterior has the mean of the exact posterior and the diagonal of its precision.
func TestDiagonalIsMeanField(t *testing.T) {
	slow(t)
	for _, factors := range []string{"exact", "tied"} {
		st, path := experiment(t, "demo/blood-pressure.toml", slices.Concat(NonPrivate,
			[]string{"inference.q=diagonal", `inference.intervals="none"`, "inference.factors=" + factors, "inference.damping=0.3", "inference.rounds=2000", "simulation.clients=60", "federation.min_clients=60"})...)
		play := newPlay(t, st, path, 1)
		run(t, play)
		family := play.Federation.Protocol.Family()
		mean, _ := moments(t, play.Reference.family, play.Reference.Natural)
		want := make([]float64, family.Size())
		// want has the exact mean and the diagonal of the exact precision.
		family.ProjectLikelihood(want, play.Reference.Natural, mean)
		for i, got := range play.Federation.Server.Posterior() {
			if math.Abs(got-want[i]) > 1e-7*max(1, math.Abs(want[i])) {
				t.Errorf("%s: natural parameter %d is %.12g, mean-field inference has %.12g", factors, i, got, want[i])
			}
		}
	}
}

func TestWorkersChangeNothing(t *testing.T) {
	for _, settings := range [][]string{
		nil,
		{"privacy.unit=client"},
		{"inference.schedule=asynchronous"},
	} {
		// only with enough clients and coefficients do several goroutines run
		settings = append(settings, "simulation.clients=80", "federation.min_clients=60")
		st, path := experiment(t, "abalone/rings.toml", settings...)
		var first []byte
		for _, workers := range []int{1, 2, 3} {
			play := newPlay(t, st, path, workers)
			var transcript []*pvi.Outcome
			result, err := play.Run(context.Background(), func(s Status) error {
				transcript = append(transcript, s.Outcome)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			bits, err := json.Marshal([]any{result, result.Natural, transcript, play.Federation.Server.Lambda()})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = bits
			} else if string(first) != string(bits) {
				t.Errorf("%v: %d workers give another result than one", settings, workers)
			}
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	slow(t)
	st, path := experiment(t, "demo/blood-pressure.toml")
	seen := map[float64]uint64{}
	for seed := range uint64(4) {
		play := prepare(t, st, Options{StudyFile: path, Seed: seed})
		kl := *run(t, play).KL
		if other, ok := seen[kl]; ok {
			t.Errorf("seeds %d and %d give the same posterior", seed, other)
		}
		seen[kl] = seed
	}
}

func TestPrivacyOfARun(t *testing.T) {
	for _, c := range []struct {
		settings []string
		views    int
		releases int
	}{
		{nil, 2, 1},
		{[]string{"privacy.unit=client"}, 8, 10},
	} {
		st, path := experiment(t, "abalone/rings.toml", c.settings...)
		p := run(t, newPlay(t, st, path, 1)).Privacy
		if p.Epsilon > 2 || p.Epsilon < 2*(1-1e-6) || p.Delta != 1e-5 {
			t.Errorf("%v: the run spent (%g, %g), the target is (2, 1e-5)", c.settings, p.Epsilon, p.Delta)
		}
		if len(p.Views) != c.views || p.Releases != c.releases || !p.Sound || p.True.Epsilon > p.Epsilon {
			t.Errorf("%v: privacy %+v", c.settings, p)
		}
	}
}

// With published factors, the proven μ is 7.24 and the claimed μ is 2.00. The cost of tied and
// exact factors must not exceed the claim (soundness notes, section 1).
func TestClaimedAndTrue(t *testing.T) {
	for factors, want := range map[string]float64{"published": 7.24, "tied": 2, "exact": 2} {
		st, path := experiment(t, "linear/one-parameter.toml", "inference.factors="+factors)
		p := run(t, newPlay(t, st, path, 1)).Privacy
		if math.Abs(p.Claimed.Mu-2) > .02*2 {
			t.Errorf("%s: claimed μ = %g, want 2.00", factors, p.Claimed.Mu)
		}
		if math.Abs(p.True.Mu-want) > .005*want {
			t.Errorf("%s: true μ = %g, want %g", factors, p.True.Mu, want)
		}
		if p.Proven.Mu < p.True.Mu*(1-1e-9) {
			t.Errorf("%s: proven μ = %g is below the true %g", factors, p.Proven.Mu, p.True.Mu)
		}
		if sound := factors != "published"; p.Sound != sound {
			t.Errorf("%s: sound is %v", factors, p.Sound)
		}
		// The reported cost must be the proven cost.
		if p.Epsilon != p.Proven.Epsilon || p.Mu != p.Proven.Mu || p.Views[0].Epsilon != p.Proven.Epsilon {
			t.Errorf("%s: ε = %g is reported, %g in the table, %g can be proved", factors, p.Epsilon, p.Views[0].Epsilon, p.Proven.Epsilon)
		}
	}
}

// For published factors, the ε after the last outcome must be 77, not the claimed 10.
func TestRunningEpsilon(t *testing.T) {
	for factors, want := range map[string]float64{"published": 77.3, "tied": 10} {
		st, path := experiment(t, "linear/one-parameter.toml", "inference.factors="+factors)
		var last float64
		result, err := newPlay(t, st, path, 1).Run(context.Background(), func(s Status) error {
			if *s.Epsilon <= last {
				t.Errorf("%s: ε = %g after outcome %d, %g before", factors, *s.Epsilon, s.Outcomes, last)
			}
			last = *s.Epsilon
			return nil
		})
		if err != nil || last != result.Privacy.Epsilon || math.Abs(last-want) > .01*want {
			t.Errorf("%s: ε = %g in the end, %g in the result, want %g; %v", factors, last, result.Privacy.Epsilon, want, err)
		}
	}
}

func TestNoPromise(t *testing.T) {
	st, path := experiment(t, "linear/one-parameter.toml", append(NonPrivate, "inference.rounds=3")...)
	result, err := newPlay(t, st, path, 1).Run(context.Background(), func(s Status) error {
		if s.Epsilon != nil {
			t.Errorf("outcome %d: ε = %g", s.Outcomes, *s.Epsilon)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result.Privacy)
	if err != nil || string(text) != `{"unit":"none"}` {
		t.Errorf("privacy of the result is %s, %v", text, err)
	}
}

// Over many seeds, the precision of the posterior must have the forecast sd. The clip is so large
// that only the noise matters.
func TestForecast(t *testing.T) {
	slow(t)
	for _, c := range []struct {
		factors, damping, schedule string
	}{
		{"tied", "0.1", "constant"},
		{"tied", "0.5", "constant"},
		{"tied", "1.0", "harmonic"},
		{"exact", "0.1", "constant"},
		{"exact", "0.5", "harmonic"},
		{"published", "0.1", "constant"},
	} {
		const seeds = 120
		// λ changes by less than the clip, so clipping has no effect
		st, path := experiment(t, "linear/one-parameter.toml", "inference.factors="+c.factors, "inference.damping="+c.damping, "inference.damping_schedule="+c.schedule,
			"privacy.clip=1000.0", "privacy.noise_multiplier=0.02", "inference.rounds=40", "simulation.synthetic.truth.x=1.0")
		var forecast method.Forecast
		var found []float64
		for seed := range uint64(seeds) {
			play := prepare(t, st, Options{StudyFile: path, Seed: seed})
			run(t, play)
			forecast = play.Federation.Protocol.Method().Forecast()
			// The loop leaves rest at the fraction of the distance to the fixed point that remains
			// after 40 damped rounds without noise.
			rest := 1.0
			for r := range 40 {
				rest *= 1 - st.Inference.Damping.At(r+1)
			}
			prior := play.Federation.Protocol.Prior()[1]
			noiseless := prior + (1-rest)*(play.Reference.Natural[1]-prior)
			found = append(found, play.Federation.Server.Posterior()[1]-noiseless)
		}
		var squares float64
		for _, x := range found {
			squares += x * x / seeds
		}
		// The bound is five standard errors of the sd.
		if got := math.Sqrt(squares); math.Abs(got/forecast.Noise-1) > 5/math.Sqrt(2*seeds) {
			t.Errorf("%+v: the precision has sd %.4g, the forecast is %.4g", c, got, forecast.Noise)
		}
	}
}

func TestForecastDoubts(t *testing.T) {
	changes := []string{"study.version=1", "inference.rounds=30"}
	for _, c := range []struct {
		epsilon  string
		settings []string
		doubtful bool
	}{
		{"4.0", nil, false},
		{"0.4", nil, false},
		{"0.02", nil, true},
		{"4.0", changes, false},
		{"1.0", changes, false},
		{"0.4", changes, true},
	} {
		st, _ := experiment(t, "demo/blood-pressure.toml", append([]string{"privacy.epsilon=" + c.epsilon}, c.settings...)...)
		p, err := Protocol(st, 0)
		if err != nil {
			t.Fatal(err)
		}
		if f := p.Method().Forecast(); f.Doubtful != c.doubtful {
			t.Errorf("ε = %s, %q: %+v", c.epsilon, c.settings, f)
		}
	}
}

func TestProtocolOfNoClients(t *testing.T) {
	st, _ := experiment(t, "demo/blood-pressure.toml")
	if _, err := Protocol(st, -5); err == nil || !strings.Contains(err.Error(), "-5 clients: give a number of at least 1") {
		t.Errorf("minus five clients: %v", err)
	}
	st.Simulation = study.Simulation{}
	if _, err := Protocol(st, 0); err == nil || !strings.Contains(err.Error(), "no [simulation] table") {
		t.Errorf("no number: %v", err)
	}
}

// A client may have no records only if the privacy unit is the record.
func TestEmptyHolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records.csv")
	row := "M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n"
	writeFile(t, file, row+row)
	st, _ := experiment(t, "abalone/rings.toml", "simulation.clients=200")
	play := prepare(t, st, Options{DataFile: file, Seed: 1})
	if r := run(t, play); r.Records != 2 || r.Privacy.Releases != 1 {
		t.Errorf("%d records, privacy %+v", r.Records, r.Privacy)
	}
	st, _ = experiment(t, "abalone/rings.toml", "simulation.clients=200", "privacy.unit=client")
	if _, err := NewPlay(st, Options{DataFile: file, Seed: 1}); err == nil || !strings.Contains(err.Error(), "2 records for 200 clients") {
		t.Errorf("two records: %v", err)
	}
}

func TestBadData(t *testing.T) {
	st, _ := experiment(t, "abalone/rings.toml")
	good := "M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n"
	for _, c := range []struct{ name, file, want string }{
		{"undeclared level", strings.Repeat(good, 12) + strings.Replace(good, "M", "X", 1), ":13: column sex: the value is not among"},
		{"out of bounds", strings.Replace(good, "0.455", "1.455", 1), ":1: column length: the value is outside the bounds [0, 1] that the study declares"},
		{"ragged", good + "M,0.455\n", ":2: the line does not have the expected "},
		{"NaN", strings.Replace(good, "0.455", "NaN", 1), ":1: column length: the value is not a number"},
		{"nothing", "", "no records"},
	} {
		file := filepath.Join(t.TempDir(), "records.csv")
		writeFile(t, file, c.file)
		_, err := NewPlay(st, Options{DataFile: file, Seed: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
	if _, err := NewPlay(st, Options{DataFile: filepath.Join(t.TempDir(), "absent")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	t.Setenv("FEDPVI_DATA", t.TempDir())
	if _, err := NewPlay(st, Options{}); err == nil || !strings.Contains(err.Error(), "set FEDPVI_DATA") {
		t.Errorf("an absent data set: %v", err)
	}
}

// BenchmarkUpdates measures how many client updates one core computes per second.
func BenchmarkUpdates(b *testing.B) {
	st, path := experiment(b, "linear/one-parameter.toml")
	b.ReportAllocs()
	updates := 0
	for seed := uint64(0); b.Loop(); seed++ {
		play := prepare(b, st, Options{StudyFile: path, Seed: seed})
		err := play.Federation.Run(context.Background(), func(o *pvi.Outcome) error {
			updates += len(o.Participants)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(updates)/b.Elapsed().Seconds(), "updates/s")
}

func TestMemoryIsFlat(t *testing.T) {
	slow(t)
	for _, schedule := range []string{"synchronous", "asynchronous"} {
		st, path := experiment(t, "linear/one-parameter.toml", slices.Concat(NonPrivate,
			[]string{"inference.factors=exact", "inference.rounds=5000", "inference.schedule=" + schedule})...)
		play := newPlay(t, st, path, 1)
		var early uint64
		_, err := play.Run(context.Background(), func(s Status) error {
			if s.Outcomes == s.Of/20 {
				early = heapInUse()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if late := heapInUse(); late > early+64<<10 {
			t.Errorf("%s: %d bytes are held after a twentieth of the rounds, %d in the end", schedule, early, late)
		}
		runtime.KeepAlive(play)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkRounds(b *testing.B) {
	for _, rounds := range []string{"100", "1000", "10000"} {
		b.Run(rounds, func(b *testing.B) {
			st, path := experiment(b, "linear/one-parameter.toml", "inference.rounds="+rounds)
			for b.Loop() {
				play := prepare(b, st, Options{StudyFile: path, Seed: 1})
				finish(b, play.Federation)
				b.ReportMetric(float64(heapInUse()), "heap-bytes")
				runtime.KeepAlive(play)
			}
		})
	}
}
