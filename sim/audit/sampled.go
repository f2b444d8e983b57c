package audit

import (
	"context"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// A descent is what a private local solver releases: in every step the sum of the
// clipped gradients of a random batch, under noise. The records of the null world
// have no gradient along the direction in which record 0's is far beyond the clip.
type descent struct {
	name      string
	sampling  dpmech.Sampling
	rate      float64 // with which a record takes part in a step
	records   int
	steps     int
	noise     float64 // multiplier
	adjacency accountant.Adjacency
}

const descentDim = 4

// descentClip is C, in the units of the gradients.
const descentClip = 2

// canary is a gradient ten times too long, in two blocks of equal length.
var canary = []float64{10 * descentClip, 0, 10 * descentClip, 0}

func (d descent) mechanism(records int) (*dpmech.SampledSum, error) {
	return dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: d.sampling, Records: records, Steps: d.steps,
		Dim: descentDim, Clip: descentClip, NoiseMultiplier: d.noise, Adjacency: d.adjacency,
	})
}

// releases returns what one run releases, in units of the clip; gradient writes
// that of a record.
func (d descent) releases(records int, seed uint64, gradient func(v []float64, record uint32)) ([][]float64, error) {
	m, err := d.mechanism(records)
	if err != nil {
		return nil, err
	}
	streams := seeded.Streams(seed, "descent")
	dst, v := make([]int64, descentDim), make([]float64, descentDim)
	released := make([][]float64, d.steps)
	for t := range released {
		err := m.Next(dst, streams, func(batch []uint32, add func([]float64) error) error {
			for _, record := range batch {
				gradient(v, record)
				if err := add(v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		released[t] = make([]float64, descentDim)
		for i, n := range dst {
			released[t][i] = m.Lattice().Float(n) / descentClip
		}
	}
	return released, nil
}

// attack looks at the releases along the canary.
func (d descent) attack() (attack, error) {
	m, err := d.mechanism(d.records)
	if err != nil {
		return attack{}, err
	}
	sign := [2]float64{0, 1}
	absent := 0
	switch d.adjacency {
	case accountant.ReplaceOne:
		sign[0] = -1
	case accountant.AddRemove:
		absent = 1 // record 0 is not there; the others keep their gradients
	}
	return attack{
		claim: newClaim(m.Event()),
		learn: d.learn,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			missing := absent * (1 - world)
			releases, err := d.releases(d.records-missing, runSeed(seed, d.name, world, run), func(v []float64, record uint32) {
				for i := range v {
					v[i] = 0
					if record+uint32(missing) == 0 {
						v[i] = sign[world] * canary[i]
					}
				}
				if record+uint32(missing) != 0 {
					v[1] = descentClip // of the other records, across the canary
				}
			})
			if err != nil {
				return nil, err
			}
			seen := make([]float64, d.steps)
			for t, r := range releases {
				seen[t] = (r[0] + r[2]) / math.Sqrt2
			}
			return seen, nil
		},
	}, nil
}

// learn offers the likelihood ratio of what the sampler does, with the spread of
// the null world's steps, and the linear statistic, which knows steps apart.
func (d descent) learn(null, other [][]float64) ([]statistic, error) {
	fisher, err := linear(null, other)
	if err != nil {
		return nil, err
	}
	without := 0.0
	sd := spread(null)
	if d.adjacency == accountant.ReplaceOne {
		without = -1
		// The record itself adds q(1−q) to the variance.
		sd = math.Sqrt(max(sd*sd-d.rate*(1-d.rate), sd*sd/4))
	}
	if steps := d.epoch(); steps > 1 {
		return []statistic{allocation(steps, without, sd), fisher}, nil
	}
	return []statistic{mixture(d.rate, 1, without, sd), fisher}, nil
}

// epoch returns the number of steps of which a record is in one, and 1 if steps are
// independent.
func (d descent) epoch() int {
	switch s := d.sampling.(type) {
	case dpmech.RandomAllocation:
		return s.Steps
	case dpmech.Permutation:
		return s.Batches
	}
	return 1
}

// quiet collects the noise of steps whose gradients are zero.
func (d descent) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs = 150
	var z noises
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		releases, err := d.releases(d.records, runSeed(seed, d.name+", noise", 0, run), func(v []float64, _ uint32) { clear(v) })
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
		z = append(z, one)
	}
	return z, nil
}
