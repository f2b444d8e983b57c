package dpmech

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"fedpvi/internal/math32"
)

// tilesOfPart is how many tiles of inputs a part of a release has: as much as a processor
// does between two looks at its neighbours.
const tilesOfPart = 4

// A ProductPart is a piece of a release: rows [From, To) of the matrix of a layer, inputs
// by outputs, in whole tiles of [math32.TileRows].
type ProductPart struct{ Layer, From, To int }

// A Pair is what a record adds to a layer: the outer product of its vectors.
type Pair struct{ Inputs, Outputs []float32 }

// A ProductRun takes the steps of a [ProductSum], one after the other: [ProductRun.Next],
// then [ProductRun.Put] for every record of the batch, then [ProductRun.Release] of every
// part. Records may be put, and parts released, by several goroutines at a time.
type ProductRun struct {
	of       *ProductSum
	sampler  Sampler
	sampling *Stream
	taken    int // steps

	batch []uint32
	put   atomic.Int64 // records of the batch
	outer []*math32.Outer
	parts []productPart
	plan  *ProductPlan // of which these are steps; nil for none

	beyond sync.Mutex // guards what follows, of records beyond Together
	extra  [][]int64  // sums by layer, nil until they are needed
	many   bool       // something is in extra
	vector []float64
	added  []int64
}

type productPart struct {
	ProductPart
	noise    Stream // of this part alone, so that it does not matter who releases what
	more     Stream // of a plan's samples that take more
	released bool
}

// Begin starts a run. Every run costs [ProductSum.Event]. It takes the keys of its noise
// from streams.Noise, and batches from streams.Sampling.
func (s *ProductSum) Begin(streams *Streams) (*ProductRun, error) {
	r, err := s.newRun()
	if err != nil {
		return nil, fmt.Errorf("product sum: %w", err)
	}
	r.sampling = streams.Sampling
	for i := range r.parts {
		Split(&r.parts[i].noise, streams.Noise)
	}
	return r, nil
}

// newRun returns a run without streams.
func (s *ProductSum) newRun() (*ProductRun, error) {
	sampler, err := s.cfg.Sampling.Sampler(s.cfg.Records)
	if err != nil {
		return nil, err
	}
	r := &ProductRun{of: s, sampler: sampler, batch: make([]uint32, 0, sampler.MaxBatch())}
	for i, l := range s.cfg.Layers {
		r.outer = append(r.outer, math32.NewOuter(l.Inputs, l.Outputs, s.cfg.Together))
		for from := 0; from < math32.Tiles(l.Inputs, math32.TileRows); from += tilesOfPart {
			to := min(from+tilesOfPart, math32.Tiles(l.Inputs, math32.TileRows))
			r.parts = append(r.parts, productPart{ProductPart: ProductPart{i, from * math32.TileRows, to * math32.TileRows}})
		}
	}
	for i := range r.parts {
		r.parts[i].released = true // until there is a step
	}
	return r, nil
}

// Parts returns the pieces that a step is released in.
func (r *ProductRun) Parts() []ProductPart {
	parts := make([]ProductPart, len(r.parts))
	for i := range r.parts {
		parts[i] = r.parts[i].ProductPart
	}
	return parts
}

// Size returns how many numbers part i has with the rest of its tiles: the panels of
// To−From rows of [math32.TileColumns] numbers.
func (r *ProductRun) Size(i int) int {
	p := &r.parts[i]
	return (p.To - p.From) * math32.Padded(r.of.cfg.Layers[p.Layer].Outputs, math32.TileColumns)
}

// Remaining returns how many of the planned steps are left.
func (r *ProductRun) Remaining() int { return r.of.cfg.Steps - r.taken }

// Next begins a step and returns its batch, in the order of the records. Neither it nor
// its size may leave the house. It is valid until the next call.
func (r *ProductRun) Next() ([]uint32, error) {
	if r.taken >= r.of.cfg.Steps {
		return nil, fmt.Errorf("product sum: %w (%d): plan more steps from the start", ErrNoSteps, r.of.cfg.Steps)
	}
	r.taken++
	return r.begin(r.sampler.Next(r.batch[:0], r.sampling)), nil
}

// begin begins a step with a batch, which it puts in order.
func (r *ProductRun) begin(batch []uint32) []uint32 {
	r.batch = batch
	slices.Sort(r.batch)
	r.put.Store(0)
	for i := range r.parts {
		r.parts[i].released = false
	}
	if r.many {
		for _, sum := range r.extra {
			clear(sum)
		}
		r.many = false
	}
	return r.batch
}

// Put adds the vector of a record of the batch, by its place there: once for each. The
// vector is clipped; one that is not finite, or beyond 2^100·C, adds zero.
//
// It is a caller's part that pairs are functions of that record, public numbers and what
// was released.
func (r *ProductRun) Put(place int, pairs []Pair) error {
	if place < 0 || place >= len(r.batch) {
		return fmt.Errorf("product sum: place %d is none of a batch of %d", place, len(r.batch))
	}
	if err := r.fits(pairs); err != nil {
		return err
	}
	f := r.of.factor(pairs)
	switch {
	case place >= r.of.cfg.Together:
		r.addBeyond(pairs, f)
	case f == 0:
		for _, o := range r.outer {
			o.Clear(place)
		}
	default:
		for i, o := range r.outer {
			o.Put(place, pairs[i].Inputs, pairs[i].Outputs, f)
		}
	}
	r.put.Add(1)
	return nil
}

func (r *ProductRun) fits(pairs []Pair) error {
	if len(pairs) != len(r.outer) {
		return fmt.Errorf("product sum: %d pairs for %d layers", len(pairs), len(r.outer))
	}
	for i, l := range r.of.cfg.Layers {
		if len(pairs[i].Inputs) != l.Inputs || len(pairs[i].Outputs) != l.Outputs {
			return fmt.Errorf("product sum: layer %d: a pair of %d and %d elements, want %d and %d", i, len(pairs[i].Inputs), len(pairs[i].Outputs), l.Inputs, l.Outputs)
		}
	}
	return nil
}

// factor returns by what the outputs of a record are multiplied so that the norm of its
// vector is at most C, 0 if it counts for nothing.
//
// The squared norm is Σ|a|²|b|², computed with a relative error below 2^-36. A factor
// is rounded to float32, and so is every output times it, 2^-24 each: together less than
// the 2^-20 that is kept clear. An output that becomes so small that it is not a normal
// number is off by 2^-150, times inputs of a norm of at most 2^90: nothing beside 2^-20·C.
func (s *ProductSum) factor(pairs []Pair) float32 {
	const (
		mostInput   = 0x1p180 // of a squared norm
		leastFactor = 0x1p-100
	)
	var squared float64
	for _, p := range pairs {
		in := math32.SumSquares(p.Inputs)
		if !(in <= mostInput) {
			return 0
		}
		squared += in * math32.SumSquares(p.Outputs)
	}
	limit := s.limit()
	root := math.Sqrt(squared)
	switch {
	case root <= limit:
		return 1
	case limit/root >= leastFactor: // neither infinite nor no number
		return float32(limit / root)
	}
	return 0
}

// limit is the largest computed norm of a vector that is not shortened.
func (s *ProductSum) limit() float64 { return s.cfg.Clip * (1 - 0x1p-20) }

// addBeyond adds a record that is not among those of the product of matrices.
func (r *ProductRun) addBeyond(pairs []Pair, f float32) {
	if f == 0 {
		return
	}
	r.beyond.Lock()
	defer r.beyond.Unlock()
	if r.extra == nil {
		for _, l := range r.of.cfg.Layers {
			r.extra = append(r.extra, make([]int64, l.Inputs*l.Outputs))
		}
		r.vector, r.added = make([]float64, r.of.dim), make([]int64, r.of.dim)
	}
	r.many = true
	at := 0
	for _, p := range pairs {
		for _, x := range p.Inputs {
			for _, y := range p.Outputs {
				r.vector[at] = float64(x) * float64(y*f)
				at++
			}
		}
	}
	clear(r.added)
	r.of.gate.add(r.added, r.vector)
	rest := r.added
	for _, sum := range r.extra {
		for i := range sum {
			sum[i] += rest[i]
		}
		rest = rest[len(sum):]
	}
}

// Release writes part i of the noisy sum to dst, as Size says: element (row, column) of the
// layer's matrix at (column/[math32.TileColumns]·(To−From) + row−From)·[math32.TileColumns] +
// column mod [math32.TileColumns]. What is beyond the matrix is zero. Every part of a step is
// released once, after all records were put. It allocates nothing.
func (r *ProductRun) Release(i int, dst []float32) error {
	p := &r.parts[i]
	switch {
	case len(dst) != r.Size(i):
		return fmt.Errorf("product sum: part %d has %d numbers, got room for %d", i, r.Size(i), len(dst))
	case p.released:
		return fmt.Errorf("product sum: part %d was released in this step", i)
	case r.put.Load() != int64(len(r.batch)):
		clear(dst)
		return errors.New("product sum: not every record of the batch was put once")
	}
	p.released = true
	layer := r.of.cfg.Layers[p.Layer]
	r.outer[p.Layer].Sum(dst, p.From/math32.TileRows, p.To/math32.TileRows, min(len(r.batch), r.of.cfg.Together))
	rows, height := min(layer.Inputs, p.To)-p.From, p.To-p.From
	var space [tilesOfPart * math32.TileRows * math32.TileColumns]int64
	hidden := space[:rows*math32.TileColumns]
	for panel := range math32.Tiles(layer.Outputs, math32.TileColumns) {
		columns := min(math32.TileColumns, layer.Outputs-panel*math32.TileColumns)
		out := dst[panel*height*math32.TileColumns:][:height*math32.TileColumns]
		if r.plan != nil {
			r.plan.fillNoise(hidden, p, panel, columns)
		} else {
			r.of.fillNoise(hidden, columns, &p.noise)
		}
		if r.many {
			r.addExtra(hidden, p, panel, columns)
		}
		hide(out[:len(hidden)], hidden, 1/r.of.lattice.Step(), r.of.lattice.Step())
		clear(out[len(hidden):])
	}
	return nil
}

// fillNoise draws noise for the first columns of every row of a panel, and makes the others
// zero.
func (s *ProductSum) fillNoise(dst []int64, columns int, src *Stream) {
	if columns == math32.TileColumns {
		s.noise.Fill(dst, src)
		return
	}
	clear(dst)
	for ; len(dst) > 0; dst = dst[math32.TileColumns:] {
		s.noise.Fill(dst[:columns], src)
	}
}

// addExtra adds what records beyond Together have in a panel of a part.
func (r *ProductRun) addExtra(dst []int64, p *productPart, panel, columns int) {
	outputs := r.of.cfg.Layers[p.Layer].Outputs
	for row := range len(dst) / math32.TileColumns {
		extra := r.extra[p.Layer][(p.From+row)*outputs+panel*math32.TileColumns:][:columns]
		for j, x := range extra {
			dst[row*math32.TileColumns+j] += x
		}
	}
}

// hidePlain rounds sums to a lattice and adds what hides them.
func hidePlain(sums []float32, noise []int64, perStep, step float64) {
	for i, x := range sums {
		sums[i] = float32(float64(int64(math.RoundToEven(float64(x)*perStep))+noise[i]) * step)
	}
}
