package vae

import (
	"fedpvi/dpmech"
	"fedpvi/internal/math32"
)

// Sums chooses batches, adds the gradients of their records and releases the sums. With privacy it
// is a [dpmech.ProductRun], and without privacy a [Plain].
type Sums interface {
	Next() (batch []uint32, err error)
	Put(place int, pairs []dpmech.Pair) error
	Parts() []dpmech.ProductPart
	Size(part int) int
	Release(part int, dst []float32) error
}

// Plain adds gradients without a clip and without noise, for comparison with a private run.
type Plain struct {
	sampler dpmech.Sampler
	src     *dpmech.Stream
	batch   []uint32
	outer   []*math32.Outer
	parts   []dpmech.ProductPart
}

// partRows is the number of rows of a layer's weights in a part. The sum of gradients is released
// part by part.
const partRows = 4 * math32.TileRows

// NewPlain returns sums of gradients over batches. The sums have no noise, and no gradient is
// clipped. The sampler draws the batches with src.
func NewPlain(shape Shape, sampler dpmech.Sampler, src *dpmech.Stream) *Plain {
	p := &Plain{sampler: sampler, src: src, batch: make([]uint32, 0, sampler.MaxBatch())}
	for i, l := range shape.Layers() {
		p.outer = append(p.outer, math32.NewOuter(l.Inputs, l.Outputs, max(1, sampler.MaxBatch())))
		for from := 0; from < l.Inputs; from += partRows {
			p.parts = append(p.parts, dpmech.ProductPart{Layer: i, From: from, To: min(from+partRows, math32.Padded(l.Inputs, math32.TileRows))})
		}
	}
	return p
}

// Next implements Sums.
func (p *Plain) Next() ([]uint32, error) {
	p.batch = p.sampler.Next(p.batch[:0], p.src)
	return p.batch, nil
}

// Put implements Sums.
func (p *Plain) Put(place int, pairs []dpmech.Pair) error {
	for i, o := range p.outer {
		o.Put(place, pairs[i].Inputs, pairs[i].Outputs, 1)
	}
	return nil
}

// Parts implements Sums.
func (p *Plain) Parts() []dpmech.ProductPart { return p.parts }

// Size implements Sums.
func (p *Plain) Size(i int) int {
	part := p.parts[i]
	return (part.To - part.From) * math32.Padded(p.outer[part.Layer].Outputs, math32.TileColumns)
}

// Release implements Sums.
func (p *Plain) Release(i int, dst []float32) error {
	part := p.parts[i]
	p.outer[part.Layer].Sum(dst, part.From/math32.TileRows, part.To/math32.TileRows, len(p.batch))
	return nil
}
