package audit

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// frequencies tests whether the sampler of d draws records as often as the accountant assumes. It
// counts how often each record is in each step, how often two records are in the same batch, how
// often a record is in the same step of two successive epochs, and how large batches are.
func (d descent) frequencies(ctx context.Context, t task) (Check, error) {
	sampler, err := d.sampling.Sampler(d.records)
	if err != nil {
		return Check{}, err
	}
	src := seeded.Stream(t.seed, "samplers, "+d.name)
	var batch []uint32
	return d.frequenciesOf(ctx, t, sampler.Steps(), func() []uint32 {
		batch = sampler.Next(batch[:0], src)
		return batch
	})
}

// epochs is the number of epochs that frequencies observes.
const epochs = 4000

// frequenciesOf is like frequencies, for batches that next returns and epochs with the given number
// of steps.
func (d descent) frequenciesOf(ctx context.Context, t task, steps int, next func() []uint32) (Check, error) {
	c := newCounts(d.records, steps)
	for epoch := range epochs {
		if err := ctx.Err(); err != nil {
			return Check{}, err
		}
		for step := range c.steps {
			if c.add(step, next()) {
				return certain(false, "a batch holds a record twice"), nil
			}
		}
		c.endEpoch(epoch)
	}
	return judge(c.trials(d.law(), epochs), t.alpha), nil
}

// A law holds the probabilities that the accountant assumes for one kind of sampling.
type law struct {
	record float64   // probability that a given record is in a given step
	pair   float64   // probability that two given records are in the same batch in an epoch
	again  float64   // probability that a record is in a given step of an epoch and of the next one
	sizes  []float64 // probability of each size of the first batch in an epoch
}

func (d descent) law() law {
	n := d.records
	binomial := func(p float64) []float64 {
		sizes := make([]float64, n+1)
		for k := range sizes {
			sizes[k] = distuv.Binomial{N: float64(n), P: p}.Prob(float64(k))
		}
		return sizes
	}
	fixed := func(size int) []float64 {
		sizes := make([]float64, n+1)
		sizes[size] = 1
		return sizes
	}
	together := func(size int) float64 { return float64(size*(size-1)) / float64(n*(n-1)) }
	switch s := d.sampling.(type) {
	case dpmech.Poisson:
		return law{s.Rate, s.Rate * s.Rate, s.Rate * s.Rate, binomial(s.Rate)}
	case dpmech.WithoutReplacement:
		q := float64(s.Batch) / float64(n)
		return law{q, together(s.Batch), q * q, fixed(s.Batch)}
	case dpmech.RandomAllocation: // each record is in exactly one step of an epoch
		q := 1 / float64(s.Steps)
		return law{q, q, q, binomial(q)}
	case dpmech.Permutation: // all batches have the same size
		size := n / s.Batches
		return law{1 / float64(s.Batches), float64(s.Batches) * together(size), 1 / float64(s.Batches), fixed(size)}
	}
	panic(fmt.Sprintf("audit: no law of %T", d.sampling)) // unreachable: suite uses no other sampling
}

// counts counts how often records occur in batches, for [descent.frequencies].
type counts struct {
	records, steps int
	record         []float64 // number of epochs with record i in step s, at index i·steps + s
	pair           []float64 // number of epochs with two records in the same batch, for each pair
	// number of times that record i was in the same step of two successive epochs, from disjoint
	// pairs of epochs, which are independent
	again []float64
	sizes []float64 // number of epochs, by size of the first batch
	// last and now tell whether record i was in step s of the previous and of the current epoch, at
	// index i·steps + s.
	last, now []bool
}

func newCounts(records, steps int) *counts {
	return &counts{
		records: records,
		steps:   steps,
		record:  make([]float64, records*steps),
		pair:    make([]float64, records*(records-1)/2),
		again:   make([]float64, records),
		sizes:   make([]float64, records+1),
		last:    make([]bool, records*steps),
		now:     make([]bool, records*steps),
	}
}

// add counts a batch, and reports whether a record occurs in it twice.
func (c *counts) add(step int, batch []uint32) (twice bool) {
	if step == 0 {
		c.sizes[min(len(batch), c.records)]++
	}
	for i, a := range batch {
		at := int(a)*c.steps + step
		if c.now[at] {
			return true
		}
		c.now[at] = true
		c.record[at]++
		for _, b := range batch[:i] {
			low, high := int(min(a, b)), int(max(a, b))
			c.pair[low*(2*c.records-low-1)/2+high-low-1]++
		}
	}
	return false
}

func (c *counts) endEpoch(epoch int) {
	if epoch%2 == 1 {
		for at, in := range c.now {
			if in && c.last[at] {
				c.again[at/c.steps]++
			}
		}
	}
	c.last, c.now = c.now, c.last
	clear(c.now)
}

// trials tests whether each count agrees with its probability in l.
func (c *counts) trials(l law, epochs int) []trial {
	var trials []trial
	add := func(n int, count, p float64, format string, args ...any) {
		says := fmt.Sprintf("%s: %.0f times in %d, %.4g expected", fmt.Sprintf(format, args...), count, n, float64(n)*p)
		trials = append(trials, trial{binomialP(count, n, p), says})
	}
	for at, n := range c.record {
		add(epochs, n, l.record, "record %d in step %d", at/c.steps+1, at%c.steps+1)
	}
	for k, n := range c.pair {
		add(epochs, n, l.pair, "pair %d together", k+1)
	}
	for i, n := range c.again {
		add(epochs/2, n, l.again, "record %d in the same step again", i+1)
	}
	expected := make([]float64, len(l.sizes))
	for k, p := range l.sizes {
		expected[k] = p * float64(epochs)
	}
	p := chiSquareP(c.sizes, expected)
	return append(trials, trial{p, fmt.Sprintf("sizes of batches: χ² p = %.2g", p)})
}
