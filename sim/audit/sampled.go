package audit

import (
	"context"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// A descent is a test case of a mechanism that releases, in every step, the noisy sum of the
// clipped gradients of a random batch. The gradient of record 0, the canary, is far longer than the
// clip. In the null world record 0 is absent, or its gradient is zero or has the opposite sign.
type descent struct {
	name      string
	sampling  dpmech.Sampling
	rate      float64 // probability that a record is in the batch of a step
	records   int
	steps     int
	noise     float64 // noise multiplier
	adjacency accountant.Adjacency

	// crowd is the length of the other records' gradients in the direction of record 0's gradient,
	// in units of the clip. In a batch of fixed size, another record is drawn in place of record 0.
	// In the worst case, it has the same gradient.
	crowd float64

	// adds returns the mechanism that adds up the gradients of the given number of records.
	adds func(d descent, records int) (steps, error)
}

const descentDim = 4

// descentClip is the clip C, in the unit of the gradients.
const descentClip = 2

// canary is the gradient of record 0 in the other world. Each half of it is ten times as long as
// the clip, so it must be clipped.
var canary = []float64{10 * descentClip, 0, 10 * descentClip, 0}

// releases returns the releases of one run in units of the clip. gradient writes the gradient of a
// record to v.
func (d descent) releases(m steps, seed uint64, gradient func(v []float64, record uint32)) ([][]float64, error) {
	released := make([][]float64, d.steps)
	for t := range released {
		released[t] = make([]float64, descentDim)
	}
	if err := m.play(released, seeded.Streams(seed, "descent"), gradient); err != nil {
		return nil, err
	}
	for _, seen := range released {
		for i := range seen {
			seen[i] /= descentClip
		}
	}
	return released, nil
}

// attack returns an attack whose observer computes the component of each release along the canary.
// It guesses whether the canary is the gradient of record 0.
func (d descent) attack() (attack, error) {
	missing := [2]int{}
	if d.adjacency == accountant.AddRemove {
		missing[0] = 1 // record 0 is missing, and the other records keep their gradients
	}
	var worlds [2]steps
	for world := range worlds {
		var err error
		if worlds[world], err = d.adds(d, d.records-missing[world]); err != nil {
			return attack{}, err
		}
	}
	sign := [2]float64{0, 1}
	if d.adjacency == accountant.ReplaceOne {
		sign[0] = -1
	}
	return attack{
		claim: newClaim(worlds[1].Event()),
		learn: d.learn,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			releases, err := d.releases(worlds[world], runSeed(seed, d.name, world, run), func(v []float64, record uint32) {
				clear(v)
				along := sign[world]
				if record += uint32(missing[world]); record > 0 {
					along = d.crowd
					v[1] = d.across() * descentClip
				}
				for i, c := range canary {
					v[i] = along * c
				}
			})
			if err != nil {
				return nil, err
			}
			seen := make([]float64, d.steps)
			for t, r := range releases {
				seen[t] = (r[0]+r[2])/math.Sqrt2 - d.crowd*d.rate*float64(d.records)
			}
			return seen, nil
		},
	}, nil
}

// learn returns two statistics: the log likelihood ratio of the observed steps (see [mixture] and
// [allocation]), with the sd of the noise as measured in the null world, and Fisher's linear
// discriminant.
func (d descent) learn(null, other [][]float64) ([]statistic, error) {
	fisher, err := linear(null, other)
	if err != nil {
		return nil, err
	}
	with, without := 1.0, 0.0
	if d.adjacency == accountant.ReplaceOne {
		without = -1
	}
	sd := spread(null)
	if without != d.crowd {
		// Part of the measured variance comes from the random draws of the protected record. If the
		// record changes the sum by d and is drawn with probability q, this part is q(1−q)d².
		sd = math.Sqrt(max(sd*sd-d.rate*(1-d.rate)*(without-d.crowd)*(without-d.crowd), sd*sd/4))
	}
	with, without = with-d.crowd, without-d.crowd
	if steps := d.epoch(); steps > 1 {
		return []statistic{allocation(steps, with, without, sd), fisher}, nil
	}
	return []statistic{mixture(d.rate, with, without, sd), fisher}, nil
}

// epoch returns the number of steps in which the sampling draws each record exactly once, or 1 if
// each step draws its batch independently.
func (d descent) epoch() int {
	switch s := d.sampling.(type) {
	case dpmech.RandomAllocation:
		return s.Steps
	case dpmech.Permutation:
		return s.Batches
	}
	return 1
}

// across returns the length of the other records' gradients in a direction orthogonal to the
// canary, in units of the clip. It is 0 if these gradients point along the canary. Otherwise it is
// 1, so that the other records contribute too.
func (d descent) across() float64 {
	if d.crowd != 0 {
		return 0
	}
	return 1
}

// quiet collects the noise of steps whose gradients are zero.
func (d descent) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs = 150
	m, err := d.adds(d, d.records)
	if err != nil {
		return nil, err
	}
	return collect(ctx, runs, seed, d.name+", noise", func(seed uint64) ([][][]float64, error) {
		releases, err := d.releases(m, seed, func(v []float64, _ uint32) { clear(v) })
		if err != nil {
			return nil, err
		}
		one := make([][][]float64, len(releases))
		for t, r := range releases {
			for i := range r {
				r[i] /= d.noise
			}
			one[t] = [][]float64{r}
		}
		return one, nil
	})
}
