package audit

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// frequencies asks whether a sampler takes records as often as its accountant is
// told: every one in every step of an epoch, every pair, the same one in
// consecutive epochs, and how many at a time.
func (d descent) frequencies(ctx context.Context, seed uint64, epochs int) (Check, error) {
	sampler, err := d.sampling.Sampler(d.records)
	if err != nil {
		return Check{}, err
	}
	c := counts{
		steps:  sampler.Steps(),
		sizes:  make([]float64, d.records+1),
		record: make([]float64, d.records*sampler.Steps()),
		again:  make([]float64, d.records),
		pair:   make([]float64, combin.Binomial(d.records, 2)),
		last:   make([]bool, d.records*sampler.Steps()),
		now:    make([]bool, d.records*sampler.Steps()),
	}
	src := seeded.Stream(seed, "samplers, "+d.name)
	var batch []uint32
	for epoch := range epochs {
		if err := ctx.Err(); err != nil {
			return Check{}, err
		}
		for t := range c.steps {
			batch = sampler.Next(batch[:0], src)
			if c.add(t, batch) {
				return certain(false, "a batch holds a record twice"), nil
			}
		}
		c.endEpoch(epoch)
	}
	return c.check(d, epochs), nil
}

// counts are what frequencies counts.
type counts struct {
	steps     int
	sizes     []float64 // batches by size
	record    []float64 // batches by record and step of the epoch
	pair      []float64 // batches that hold both
	again     []float64 // by record: in the same step of this epoch and the last
	batches   float64
	last, now []bool
}

// add counts a batch, and reports whether a record is in it twice.
func (c *counts) add(step int, batch []uint32) (twice bool) {
	c.batches++
	c.sizes[min(len(batch), len(c.sizes)-1)]++
	n := len(c.again)
	for i, a := range batch {
		at := int(a)*c.steps + step
		if c.now[at] {
			return true
		}
		c.now[at] = true
		c.record[at]++
		for _, b := range batch[:i] {
			low, high := int(min(a, b)), int(max(a, b))
			c.pair[low*(2*n-low-1)/2+high-low-1]++
		}
	}
	return false
}

func (c *counts) endEpoch(epoch int) {
	if epoch > 0 {
		for at, in := range c.now {
			if in && c.last[at] {
				c.again[at/c.steps]++
			}
		}
	}
	c.last, c.now = c.now, c.last
	clear(c.now)
}

// check sets counts against their laws. Counts of single records and pairs are
// binomial; those of different steps, records or pairs need not be independent,
// and each is a trial of its own.
func (c *counts) check(d descent, epochs int) Check {
	pair, sizes := d.law()
	var trials []trial
	add := func(n int, count float64, p float64, format string, args ...any) {
		says := fmt.Sprintf(format, args...)
		trials = append(trials, trial{binomialP(count, n, p), fmt.Sprintf("%s: %.0f times in %d, %.4g expected", says, count, n, float64(n)*p)})
	}
	for at, n := range c.record {
		add(epochs, n, d.rate, "record %d in step %d of an epoch", at/c.steps+1, at%c.steps+1)
	}
	for k, n := range c.pair {
		add(int(c.batches), n, pair, "pair %d in one batch", k+1)
	}
	for i, n := range c.again {
		add((epochs-1)*c.steps, n, d.rate*d.rate, "record %d in the same step of consecutive epochs", i+1)
	}
	if sizes != nil {
		expected := make([]float64, len(sizes))
		for k, p := range sizes {
			expected[k] = p * c.batches
		}
		p := chiSquareP(c.sizes, expected)
		trials = append(trials, trial{p, fmt.Sprintf("sizes of batches: χ² p = %.2g", p)})
	}
	return judge(trials, 0)
}
