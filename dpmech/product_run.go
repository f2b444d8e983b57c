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

// tilesOfPart is the number of tiles in a part of a release. A tile consists of [math32.TileRows]
// rows of a layer's matrix. Parts are small, so that the work can be divided evenly among the
// workers.
const tilesOfPart = 4

// A ProductPart is a part of a release that can be computed on its own: the rows From to To−1 of a
// layer's matrix. A row belongs to an input of the layer, and a column to an output. From and To
// are multiples of [math32.TileRows], so To can exceed the number of inputs.
type ProductPart struct{ Layer, From, To int }

// A Pair is two vectors whose outer product is a record's contribution to a layer.
type Pair struct{ Inputs, Outputs []float32 }

// A ProductRun computes the steps of a [ProductSum], one after the other. In each step the caller
// calls [ProductRun.Next], then [ProductRun.Put] for every record of the batch, and then
// [ProductRun.Release] for every part. Several goroutines can call Put, or Release, at the same
// time.
type ProductRun struct {
	of       *ProductSum
	sampler  Sampler
	sampling *Stream
	taken    int // number of steps so far

	batch []uint32
	put   atomic.Int64 // how many records Put has added in this step
	outer []*math32.Outer
	parts []productPart
	plan  *ProductPlan // plan of the steps, or nil

	beyond sync.Mutex // guards extra and many
	extra  [][]int64  // integer sums of the records after the first Together in a batch, one slice for each layer; nil until there is such a record
	many   bool       // whether extra is not zero
	vector []float64
	added  []int64
}

type productPart struct {
	ProductPart
	// noise is the stream for this part's noise. Each part has its own, so that parts can be
	// released in any order.
	noise    Stream
	more     Stream // provides more words for noise samples of a plan if one word is not enough
	released bool
}

// Begin starts a run. Every run costs [ProductSum.Event]. The keys of the noise are drawn from
// streams.Noise, and the batches from streams.Sampling.
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

// newRun returns a run that has no random streams yet.
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
		r.parts[i].released = true // no part may be released before the first step
	}
	return r, nil
}

// Parts returns the parts of the release of a step.
func (r *ProductRun) Parts() []ProductPart {
	parts := make([]ProductPart, len(r.parts))
	for i := range r.parts {
		parts[i] = r.parts[i].ProductPart
	}
	return parts
}

// Size returns the number of elements in the release of part i, including the padding. The part
// consists of panels with To−From rows of [math32.TileColumns] numbers.
func (r *ProductRun) Size(i int) int {
	p := &r.parts[i]
	return (p.To - p.From) * math32.Padded(r.of.cfg.Layers[p.Layer].Outputs, math32.TileColumns)
}

// Remaining returns the number of planned steps that are left.
func (r *ProductRun) Remaining() int { return r.of.cfg.Steps - r.taken }

// Next begins a step and returns its batch, in the order of the records. Neither the batch nor its
// size may be released. The returned slice is valid until the next call.
func (r *ProductRun) Next() ([]uint32, error) {
	if r.taken >= r.of.cfg.Steps {
		return nil, fmt.Errorf("product sum: %w (%d): plan more steps from the start", ErrNoSteps, r.of.cfg.Steps)
	}
	r.taken++
	return r.begin(r.sampler.Next(r.batch[:0], r.sampling)), nil
}

// begin sorts a batch and begins a step with it.
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

// Put adds the clipped vector of the record at position place of the batch. Call it once for each
// position. A vector that is not finite, or whose norm exceeds 2^100·C, adds zero.
//
// The caller must compute the pairs only from this record, public numbers and earlier releases.
func (r *ProductRun) Put(place int, pairs []Pair) error {
	if place < 0 || place >= len(r.batch) {
		return fmt.Errorf("product sum: place %d is outside of a batch of %d", place, len(r.batch))
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

// factor returns a factor for the outputs of a record that shortens its vector to a norm of at most
// C, or 0 if the record counts as zero.
//
// The squared norm is Σ|a|²|b|² over the layers with inputs a and outputs b, computed with a
// relative error below 2^-36. The factor is rounded to float32, and so is every product of an
// output with the factor. Each rounding has a relative error of at most 2^-24, and both together
// are less than the margin of 2^-20. A product that becomes subnormal has an absolute error of
// 2^-150. This error is multiplied by inputs whose norm is at most 2^90. The result is negligible
// compared with 2^-20·C.
func (s *ProductSum) factor(pairs []Pair) float32 {
	const (
		mostInput   = 0x1p180 // largest squared norm of the inputs
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
	case limit/root >= leastFactor: // the condition is false if root is infinite or NaN
		return float32(limit / root)
	}
	return 0
}

// limit returns the maximum norm of a vector that factor does not shorten.
func (s *ProductSum) limit() float64 { return s.cfg.Clip * (1 - 0x1p-20) }

// addBeyond adds the vector of a record as integers. It is called for the records after the first
// Together records of the batch.
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

// Release writes part i of the noisy sum to dst, which has Size elements. Let w be
// [math32.TileColumns]. Element (row, column) of the layer's matrix is at index
//
//	(column/w·(To−From) + row−From)·w + column mod w.
//
// Elements of the padding are zero. Every part of a step can be released once, after Put has been
// called for all records. Release allocates nothing.
func (r *ProductRun) Release(i int, dst []float32) error {
	p := &r.parts[i]
	switch {
	case len(dst) != r.Size(i):
		return fmt.Errorf("product sum: part %d has %d numbers, got room for %d", i, r.Size(i), len(dst))
	case p.released:
		return fmt.Errorf("product sum: part %d was already released in this step", i)
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

// fillNoise sets dst to the noise for a panel, which is a block of math32.TileColumns columns of a
// layer's matrix. Only the first columns of the panel belong to the matrix. The others are padding,
// and fillNoise sets them to zero.
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

// addExtra adds to dst the sums that addBeyond has made for one panel of a part. A panel is a block
// of columns.
func (r *ProductRun) addExtra(dst []int64, p *productPart, panel, columns int) {
	outputs := r.of.cfg.Layers[p.Layer].Outputs
	for row := range len(dst) / math32.TileColumns {
		extra := r.extra[p.Layer][(p.From+row)*outputs+panel*math32.TileColumns:][:columns]
		for j, x := range extra {
			dst[row*math32.TileColumns+j] += x
		}
	}
}

// hidePlain makes the noisy release in place. It rounds each element of sums to the lattice, adds
// the noise, and converts the result back to a float.
func hidePlain(sums []float32, noise []int64, perStep, step float64) {
	for i, x := range sums {
		sums[i] = float32(float64(int64(math.RoundToEven(float64(x)*perStep))+noise[i]) * step)
	}
}
