package solver

import (
	"errors"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/gpu"
)

// A GradientSum computes the releases of one client in a study with a [SumDescent]. A release is
// the sum of the clipped gradients of the client's records at a public θ, plus the client's noise
// share. It is not safe for concurrent use.
type GradientSum struct {
	program   *Program
	mechanism *dpmech.SampledSum
	run       *dpmech.SampledRun

	streams dpmech.Streams
	sink    *Sink
	batch   []int32
	at      gpu.Query
	query   dpmech.SampledQuery // g.sum, stored to avoid allocations
}

// NewGradientSum returns the GradientSum of a client with the records in p. The mechanism must be
// for as many records, and for vectors of p.Dim() or 2·p.Dim() numbers.
func NewGradientSum(p *Program, m *dpmech.SampledSum) (*GradientSum, error) {
	if d := m.Dim(); d != p.Dim() && d != 2*p.Dim() {
		return nil, fmt.Errorf("gradient sum: the mechanism is for vectors of %d numbers, want %d or twice as many", d, p.Dim())
	}
	if m.Rows() != p.records.Rows() {
		// The number of records is private, so the error does not name it.
		return nil, errors.New("gradient sum: the mechanism is for another number of records")
	}
	g := &GradientSum{program: p, mechanism: m, run: m.Begin()}
	g.streams = dpmech.Streams{Sampling: new(dpmech.Stream), Noise: new(dpmech.Stream)}
	g.batch = make([]int32, 0, m.MaxBatch())
	g.sink = NewSink(m.Dim())
	g.query = g.sum
	return g, nil
}

// Size returns the number of elements of a release.
func (g *GradientSum) Size() int { return g.mechanism.Dim() }

// Resume sets the number of releases made and charged before a restart.
func (g *GradientSum) Resume(taken int) error {
	run, err := g.mechanism.Resume(taken)
	if err != nil {
		return fmt.Errorf("gradient sum: %w", err)
	}
	g.run = run
	return nil
}

// Release writes the noisy sum of the records' gradients at the θ of at to dst, in lattice steps.
// It draws the noise and the batch from src before it reads a record.
func (g *GradientSum) Release(dst []int64, at *gpu.Query, src *dpmech.Stream) error {
	dpmech.Split(g.streams.Sampling, src)
	dpmech.Split(g.streams.Noise, src)
	defer g.streams.Wipe()
	g.at = *at
	if err := g.run.Next(dst, &g.streams, g.query); err != nil {
		return fmt.Errorf("gradient sum: %w", err)
	}
	return nil
}

func (g *GradientSum) sum(batch []uint32, sum *dpmech.Accumulator) error {
	g.batch = AppendBatch(g.batch[:0], batch)
	g.at.Batch = g.batch
	g.sink.Sum = sum
	return g.program.records.Each(&g.at, g.sink)
}
