package dpmech_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

var sampled = dpmech.SampledConfig{
	Sampling: dpmech.Poisson{Rate: 0.1}, Records: 200, Steps: 50,
	Dim: 3, Clip: 2, NoiseMultiplier: 1.5, Adjacency: accountant.AddRemove,
}

func newSampledSum(t testing.TB, cfg dpmech.SampledConfig) *dpmech.SampledSum {
	t.Helper()
	s, err := dpmech.NewSampledSum(cfg)
	check(t, err)
	return s
}

// each returns a query that adds the vector v for every record of a batch.
func each(v []float64) dpmech.SampledQuery {
	return func(batch []uint32, sum *dpmech.Accumulator) error {
		for range batch {
			if err := sum.Add(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// The test runs all steps of a mechanism, and draws the same batches and noise itself, from streams
// with the same seed. A release must be the sum over the batch plus the noise. Once the query has
// begun, a step must not draw any random bits.
func TestSampledStep(t *testing.T) {
	for name, sampling := range samplings(40) {
		cfg := sampled
		cfg.Sampling, cfg.Records, cfg.Adjacency = sampling, 40, accountant.ZeroOut
		cfg.Steps = 20
		cfg.NoiseMultiplier = 0.5 // with a larger multiplier the accounting of random allocation would be slow
		s := newSampledSum(t, cfg)
		run := s.Begin()
		streams, copied := seeded.Streams(1, "sampled"), seeded.Streams(1, "sampled")
		sampler := newSampler(t, sampling, 40)
		noise := newGaussian(t, s.ShareSigma())
		want, dst, vector := make([]int64, 3), make([]int64, 3), make([]float64, 3)
		var expected []uint32
		for step := range cfg.Steps {
			expected = sampler.Next(expected[:0], copied.Sampling)
			noise.Fill(want, copied.Noise)
			err := run.Next(dst, streams, func(batch []uint32, sum *dpmech.Accumulator) error {
				if !slices.Equal(batch, expected) {
					t.Errorf("%s: step %d has batch %v, want %v", name, step, batch, expected)
				}
				for _, i := range batch {
					// The elements are whole numbers of lattice steps, so truncation does not
					// change them.
					vector[0], vector[1] = s.Lattice().Float(int64(i)), s.Lattice().Float(-1)
					want[0] += int64(i)
					want[1]--
					if err := sum.Add(vector); err != nil {
						return err
					}
				}
				return nil
			})
			check(t, err)
			if !slices.Equal(dst, want) {
				t.Errorf("%s: step %d releases %v, want %v", name, step, dst, want)
			}
		}
	}
}

// The batch and the noise must be drawn before the query is called. The query wipes the streams,
// and the step must still succeed.
func TestStreamsAreDrawnBeforeTheData(t *testing.T) {
	run := newSampledSum(t, sampled).Begin()
	streams := dpmech.NewStreams()
	dst := make([]int64, 3)
	for range 2 {
		err := run.Next(dst, streams, func(batch []uint32, sum *dpmech.Accumulator) error {
			streams.Wipe()
			return each([]float64{1, 2, 3})(batch, sum)
		})
		check(t, err)
		*streams = *dpmech.NewStreams()
	}
}

func TestSampledSumHasNoMoreStepsThanPlanned(t *testing.T) {
	mechanism := newSampledSum(t, sampled)
	run := mechanism.Begin()
	streams := seeded.Streams(1, "planned")
	dst := make([]int64, 3)
	for range sampled.Steps {
		check(t, run.Next(dst, streams, each([]float64{1, 2, 3})))
	}
	touched := false
	err := run.Next(dst, streams, func([]uint32, *dpmech.Accumulator) error { touched = true; return nil })
	if !errors.Is(err, dpmech.ErrNoSteps) || touched || run.Remaining() != 0 {
		t.Errorf("an additional step returns %v, data touched: %t, remaining %d", err, touched, run.Remaining())
	}
	if another := mechanism.Begin(); another.Remaining() != sampled.Steps {
		t.Errorf("another run has %d steps, want %d", another.Remaining(), sampled.Steps)
	}
}

// If the query adds more vectors than the batch has records, the step must fail, even if a larger
// batch was possible.
func TestSampledStepTakesOneVectorOfARecord(t *testing.T) {
	s := newSampledSum(t, sampled)
	run, streams, dst := s.Begin(), seeded.Streams(1, "one more"), make([]int64, 3)
	for step := range 5 {
		err := run.Next(dst, streams, func(batch []uint32, sum *dpmech.Accumulator) error {
			if len(batch) >= s.MaxBatch() {
				t.Fatal("the batch is the largest that is possible")
			}
			if err := each([]float64{1, 2, 3})(batch, sum); err != nil {
				t.Error(err)
			}
			return each([]float64{1, 2, 3})(batch[:min(1, len(batch))], sum)
		})
		if err == nil || !allZero(dst) {
			t.Errorf("step %d with one vector too many releases %v, %v", step, dst, err)
		}
	}
}

// A failed step must reveal nothing, must be used up, and must not affect the next step.
func TestSampledStepsThatFail(t *testing.T) {
	cfg := sampled
	cfg.Sampling = dpmech.WithoutReplacement{Batch: 4}
	own := errors.New("no data today")
	one := []float64{1, 1, 1}
	for name, c := range map[string]struct {
		query dpmech.SampledQuery
		want  string
	}{
		"too many": {func(batch []uint32, sum *dpmech.Accumulator) error {
			return errors.Join(each(one)(batch, sum), sum.Add(one))
		}, "more than 4 vectors"},
		"shape": {each([]float64{1, 2}), "vector has 2 elements, want 3"},
		"own": {func(batch []uint32, sum *dpmech.Accumulator) error {
			return errors.Join(sum.Add(one), own)
		}, own.Error()},
	} {
		run := newSampledSum(t, cfg).Begin()
		dst := []int64{1, 2, 3}
		err := run.Next(dst, seeded.Streams(1, "fail"), c.query)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if !slices.Equal(dst, []int64{0, 0, 0}) || run.Remaining() != cfg.Steps-1 {
			t.Errorf("%s: the step returned %v, and %d of %d steps remain", name, dst, run.Remaining(), cfg.Steps)
		}
		checkNoise(t, name, run, func([]uint32, *dpmech.Accumulator) error { return nil })
	}
	run := newSampledSum(t, cfg).Begin()
	for range 2 { // one step whose query panics, and the next step
		checkNoise(t, "panic", run, func(_ []uint32, sum *dpmech.Accumulator) error {
			_ = sum.Add(one)
			panic("in the query")
		})
	}
	if err := run.Next(make([]int64, 2), seeded.Streams(1, "short"), each(one)); err == nil || run.Remaining() != cfg.Steps-2 {
		t.Errorf("Next with a destination of the wrong length returned %v, and %d steps remain", err, run.Remaining())
	}
}

// checkNoise runs a step with the given query. The test fails unless the release consists of
// noise only.
func checkNoise(t *testing.T, name string, run *dpmech.SampledRun, query dpmech.SampledQuery) {
	t.Helper()
	dst, want := make([]int64, sampled.Dim), make([]int64, sampled.Dim)
	check(t, run.Next(dst, seeded.Streams(2, "noise"), query))
	newGaussian(t, newSampledSum(t, sampled).ShareSigma()).Fill(want, seeded.Streams(2, "noise").Noise)
	if !slices.Equal(dst, want) {
		t.Errorf("%s: the step contains more than noise", name)
	}
}

func TestSampledSumAllocatesNothing(t *testing.T) {
	for name, sampling := range samplings(200) {
		cfg := sampled
		cfg.Sampling, cfg.Adjacency, cfg.Steps = sampling, accountant.ZeroOut, 1000
		cfg.NoiseMultiplier = 0.5 // with a larger multiplier the accounting of random allocation would be slow
		run := newSampledSum(t, cfg).Begin()
		streams := seeded.Streams(1, "allocations")
		dst := make([]int64, 3)
		query := each([]float64{1, 2, 3})
		if n := testing.AllocsPerRun(100, func() {
			check(t, run.Next(dst, streams, query))
		}); n != 0 {
			t.Errorf("%s: a step allocates %v times", name, n)
		}
	}
}

func TestSampledConfigErrors(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*dpmech.SampledConfig)
		want string
	}{
		"sampling":  {func(c *dpmech.SampledConfig) { c.Sampling = nil }, "no sampling"},
		"rate":      {func(c *dpmech.SampledConfig) { c.Sampling = dpmech.Poisson{Rate: 2} }, "sampling rate"},
		"tiny rate": {func(c *dpmech.SampledConfig) { c.Sampling = dpmech.Poisson{Rate: 1e-20} }, "sampling rate must be 0 or at least"},
		"steps":     {func(c *dpmech.SampledConfig) { c.Steps = 0 }, "number of steps must be at least 1"},
		"noise":     {func(c *dpmech.SampledConfig) { c.NoiseMultiplier = 0.01 }, "noise multiplier must be at least 0.05"},
		"clip":      {func(c *dpmech.SampledConfig) { c.Clip = 0 }, "clip must be positive"},
		"dimension": {func(c *dpmech.SampledConfig) { c.Dim = 0 }, "dimension must be at least 1"},
		"adjacency": {func(c *dpmech.SampledConfig) { c.Adjacency = "" }, "unknown adjacency"},
		"no bound":  {func(c *dpmech.SampledConfig) { c.Sampling = dpmech.Permutation{Batches: 4} }, "no bound under"},
	} {
		cfg := sampled
		c.edit(&cfg)
		_, err := dpmech.NewSampledSum(cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func account(t *testing.T, e accountant.Event) accountant.Profile {
	t.Helper()
	p, err := accountant.Account(e)
	check(t, err)
	return p
}

func epsilonOf(t *testing.T, e accountant.Event, delta float64) float64 {
	t.Helper()
	b, err := account(t, e).Epsilon(delta)
	check(t, err)
	return b.Upper
}

// readVectors decodes the reference file into sections. It skips the test if there is no such file.
func readVectors(t *testing.T, sections any) {
	t.Helper()
	path := os.Getenv("FEDPVI_VECTORS")
	if path == "" {
		path = filepath.Join("..", "..", "shared", "vectors", "public.json")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no reference values: %v (set FEDPVI_VECTORS to the file)", err)
	}
	check(t, json.Unmarshal(raw, sections))
}

func TestSampledEventVectors(t *testing.T) {
	long(t)
	type vector struct {
		ID              string
		Q, Sigma, Delta float64
		T, N, Batch     int
		Exact           struct{ Eps *float64 }
		Upper           struct{ Eps *float64 } `json:"eps_upper_dominating_pair"`
	}
	var sections struct {
		Poisson []vector `json:"subsampled_gaussian_eps"`
		Replace []vector `json:"poisson_replace_one_eps"`
		Fixed   []vector `json:"wor_replace_one_eps"`
	}
	readVectors(t, &sections)
	cfg := sampled
	cfg.Records, cfg.Dim = 1000, 1000
	compare := func(v vector, want *float64) {
		if want == nil { // the hard cases of the file have an interval instead of a value
			return
		}
		cfg.NoiseMultiplier, cfg.Steps = v.Sigma, v.T
		s := newSampledSum(t, cfg)
		// The noise is rounded up by a few parts in ten million, so ε may be slightly below the
		// reference.
		if got := epsilonOf(t, s.Event(), v.Delta); got < *want*(1-1e-6) || got > *want*(1+1e-3) {
			t.Errorf("%s: ε = %.12g, want %.12g", v.ID, got, *want)
		}
	}
	for i, v := range sections.Poisson {
		if i%8 != 0 {
			continue
		}
		cfg.Sampling, cfg.Adjacency = dpmech.Poisson{Rate: v.Q}, accountant.AddRemove
		compare(v, v.Exact.Eps)
	}
	for i, v := range sections.Replace {
		if i%3 != 0 {
			continue
		}
		cfg.Sampling, cfg.Adjacency = dpmech.Poisson{Rate: v.Q}, accountant.ReplaceOne
		compare(v, v.Exact.Eps)
	}
	for i, v := range sections.Fixed {
		if i%3 != 0 {
			continue
		}
		cfg.Records, cfg.Adjacency = v.N, accountant.ReplaceOne
		cfg.Sampling = dpmech.WithoutReplacement{Batch: v.Batch}
		compare(v, v.Upper.Eps)
	}
}

// In exact arithmetic, the accounted noise must be at most the actual noise, σ²c² ≤ s² − 1/12. Each
// step must also be charged for the divergence between the discrete noise and continuous noise.
func TestSampledEventIsTheMechanism(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.3, 1, 1.5, math.Pi, 8, 12345.678} {
		cfg := sampled
		cfg.NoiseMultiplier = sigma
		s := newSampledSum(t, cfg)
		gate := newSum(t, dpmech.Config{
			Dim: cfg.Dim, Clip: cfg.Clip, NoiseMultiplier: sigma, Shares: 1, Terms: 1, Releases: 1, Adjacency: cfg.Adjacency,
		})
		events := s.Event().(accountant.Composed)
		steps := events[0].(accountant.Repeated)
		poisson := steps.Event.(accountant.Poisson)
		if poisson.Rate != 0.1 || poisson.Adjacency != cfg.Adjacency || steps.Times != cfg.Steps {
			t.Errorf("σ = %g: event %+v", sigma, events)
		}
		clip := new(big.Rat).SetInt(clipSteps(gate))
		noise := new(big.Rat).Mul(new(big.Rat).SetFloat64(poisson.Sigma), clip)
		noise.Mul(noise, noise)
		share := new(big.Rat).SetInt64(s.ShareSigma())
		share.Mul(share, share).Sub(share, big.NewRat(1, 12))
		if ratio, _ := noise.Quo(noise, share).Float64(); ratio > 1 || ratio < 1-0x1p-46 {
			t.Errorf("σ = %g: the accounted variance is %v of the actual one", sigma, ratio)
		}
		want := accountant.Repeated{Event: accountant.DiscreteGaussian{
			Sigma: float64(s.ShareSigma()), Shares: 1, Dim: cfg.Dim, Adjacency: cfg.Adjacency,
		}, Times: cfg.Steps}
		if events[1] != want {
			t.Errorf("σ = %g: event %+v, want %+v", sigma, events[1], want)
		}
	}
}

// The test computes the cost of steps over all records. If one record is added or removed, this
// cost must be at least the cost of Gaussian releases with parameter 1/σ. The parameter is 2/σ if a
// record is replaced, or if another record takes the place of a removed record in a batch of fixed
// size.
func TestSampledEventWithoutSampling(t *testing.T) {
	for _, c := range []struct {
		sampling  dpmech.Sampling
		adjacency accountant.Adjacency
		factor    float64
	}{
		{dpmech.FullBatch{}, accountant.AddRemove, 1},
		{dpmech.FullBatch{}, accountant.ZeroOut, 1},
		{dpmech.FullBatch{}, accountant.ReplaceOne, 2},
		{dpmech.Poisson{Rate: 1}, accountant.AddRemove, 1},
		{dpmech.Poisson{Rate: 1}, accountant.ReplaceOne, 2},
		{dpmech.WithoutReplacement{Batch: 200}, accountant.AddRemove, 2},
		{dpmech.WithoutReplacement{Batch: 200}, accountant.ReplaceOne, 2},
		{dpmech.RandomAllocation{Steps: 1, Picks: 1}, accountant.AddRemove, 1},
		{dpmech.Permutation{Batches: 1}, accountant.ReplaceOne, 2},
	} {
		for _, sigma := range []float64{0.3, 1, 7.77, 1000} {
			cfg := sampled
			cfg.Sampling, cfg.Adjacency, cfg.NoiseMultiplier = c.sampling, c.adjacency, sigma
			p := account(t, newSampledSum(t, cfg).Event())
			// The noise share is rounded up by less than one part in 2^23, and the clip is
			// rounded down by less than one lattice step.
			want := c.factor * math.Sqrt(float64(cfg.Steps)) / sigma
			if p.Mu() > want*(1+1e-12) || p.Mu() < want*(1-2e-4) {
				t.Errorf("%#v under %s, σ = %g: μ = %.12g, want %.12g", c.sampling, c.adjacency, sigma, p.Mu(), want)
			}
			gate := newSum(t, dpmech.Config{
				Dim: cfg.Dim, Clip: cfg.Clip, NoiseMultiplier: sigma, Shares: 1, Terms: 200, Releases: 1, Adjacency: c.adjacency,
			})
			plain := account(t, accountant.Repeated{Event: gate.Event(), Times: cfg.Steps})
			if p.Mu() < plain.Mu()*(1-1e-14) {
				t.Errorf("%#v under %s, σ = %g: μ = %.17g is below the μ of the sum, %.17g", c.sampling, c.adjacency, sigma, p.Mu(), plain.Mu())
			}
		}
	}
}

func BenchmarkSampledSum(b *testing.B) {
	cfg := sampled
	cfg.Sampling, cfg.Records, cfg.Dim, cfg.Steps = dpmech.Poisson{Rate: 0.005}, 39_073, 14, math.MaxInt32
	run := newSampledSum(b, cfg).Begin()
	streams := seeded.Streams(1, "bench")
	dst, query := make([]int64, cfg.Dim), each(slices.Repeat([]float64{0.1}, cfg.Dim))
	b.ReportAllocs()
	for b.Loop() {
		check(b, run.Next(dst, streams, query))
	}
}

func allZero(v []int64) bool { return !slices.ContainsFunc(v, func(n int64) bool { return n != 0 }) }
