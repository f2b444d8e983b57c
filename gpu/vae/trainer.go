package vae

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/internal/guard"
	"fedpvi/internal/math32"
)

// Options are the options of a [Trainer].
type Options struct {
	Rate    float64 // step size of Adam
	Batch   float64 // public number by which sums are divided, such as the expected batch size
	Workers int     // number of goroutines; it does not affect the result
}

// A Trainer updates a network's weights step by step.
type Trainer struct {
	network *Network
	images  [][]byte
	sums    Sums
	parts   []dpmech.ProductPart
	options Options

	crew    *crew
	passes  []*pass     // one pass for each worker
	scratch [][]float32 // buffers for the gradient of a part, one for each worker
	// random streams, one for each tile of a batch, so that the number of workers does not affect
	// results
	streams []*dpmech.Stream
	order   []int // indices of the parts in which a sum is released; the largest come first, so that workers finish at about the same time
	adam    math32.Adam
	first   [layers]math32.Panels
	second  [layers]math32.Panels
	plan    Planned       // plan of the current steps; nil without a plan
	card    *cuda.Network // attached device; nil for the CPU
	behind  bool          // whether the device's weights and moments are newer than the network's

	// These fields belong to the current step.
	batch        []uint32
	cuts         []int // index of the first tile of each chunk of the batch, followed by the number of tiles
	move         math32.AdamStep
	chunk, piece func(worker, task int)
	failed       error
	fails        sync.Mutex
}

// NewTrainer returns a trainer of a network on images, which have one byte for each pixel. sums
// chooses the batches, and most is the largest number of images in a batch. Random numbers for
// images and latent vectors come from streams that are split from src. The caller must close the
// trainer.
//
// If sums is nil, the trainer can only compute plans ([Trainer.TakePlan]).
func NewTrainer(n *Network, images [][]byte, sums Sums, most int, options Options, src *dpmech.Stream) (*Trainer, error) {
	if !(options.Rate > 0) || !(options.Batch > 0) || options.Workers < 1 {
		return nil, errors.New("trainer: step size, batch and workers must be positive")
	}
	for i, image := range images {
		if len(image) != n.Pixels {
			return nil, fmt.Errorf("trainer: image %d does not have the %d pixels of the network", i, n.Pixels)
		}
	}
	t := &Trainer{
		network: n, images: images, options: options, crew: newCrew(options.Workers), adam: math32.Adam{Beta1: .9, Beta2: .999, Epsilon: 1e-8},
	}
	for range options.Workers {
		t.passes = append(t.passes, newPass(n))
	}
	t.scratch = make([][]float32, options.Workers)
	if sums != nil {
		t.use(sums)
	}
	for range math32.Tiles(most, math32.TileRows) {
		s := new(dpmech.Stream)
		dpmech.Split(s, src)
		t.streams = append(t.streams, s)
	}
	t.cuts = make([]int, 0, len(t.streams)+1)
	for l, layer := range n.Layers() {
		t.first[l], t.second[l] = math32.NewPanels(layer.Inputs, layer.Outputs), math32.NewPanels(layer.Inputs, layer.Outputs)
	}
	t.chunk, t.piece = t.takeChunk, t.takePiece
	return t, nil
}

// use makes later steps use the given sums.
func (t *Trainer) use(sums Sums) {
	t.sums, t.parts = sums, sums.Parts()
	t.order = t.order[:0]
	for i := range t.parts {
		t.order = append(t.order, i)
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return sums.Size(b) - sums.Size(a) })
	size := sums.Size(t.order[0])
	for i := range t.scratch {
		if len(t.scratch[i]) < size {
			t.scratch[i] = make([]float32, size)
		}
	}
}

// Close stops the goroutines and frees the memory of an attached device.
func (t *Trainer) Close() error {
	t.crew.close()
	if t.card == nil {
		return nil
	}
	return t.card.Close()
}

// Step computes one step: it chooses a batch, adds the gradients of its images, releases the sum,
// and moves the weights with Adam. It allocates no memory. It returns an error if the mechanism has
// no step left, or if a batch is larger than the trainer expects.
func (t *Trainer) Step() error {
	var err error
	if t.batch, err = t.sums.Next(); err != nil {
		return err
	}
	if len(t.batch) > len(t.streams)*math32.TileRows {
		return fmt.Errorf("trainer: a batch of more than %d records", len(t.streams)*math32.TileRows)
	}
	t.cut()
	t.crew.do(len(t.cuts)-1, t.chunk)
	t.move = t.adam.Next(t.options.Rate, 1/t.options.Batch)
	t.crew.do(len(t.parts), t.piece)
	return t.failed
}

// cut divides the batch into chunks of whole tiles. The first chunks are large, because the weights
// are read less often then. Later chunks are smaller, so that the workers finish at about the same
// time.
func (t *Trainer) cut() {
	const most = recordsAtOnce / math32.TileRows
	tiles := math32.Tiles(len(t.batch), math32.TileRows)
	t.cuts = append(t.cuts[:0], 0)
	for at := 0; at < tiles; t.cuts = append(t.cuts, at) {
		at += min(math32.Tiles(tiles-at, 2*t.options.Workers), most)
	}
}

// takeChunk computes the gradients of the records in a chunk of the batch and passes them to
// t.sums. If the computation of a record panics, this record adds zero, and the other records of
// the chunk are computed again, one by one. They then use new random numbers, unless the steps
// belong to a plan, which fixes the numbers. Either way, their results do not depend on the record
// that panicked.
func (t *Trainer) takeChunk(worker, task int) {
	p, from, to := t.passes[worker], t.cuts[task]*math32.TileRows, t.cuts[task+1]*math32.TileRows
	places := p.places[:0]
	for place := from; place < min(to, len(t.batch)); place++ {
		places = append(places, place)
	}
	clear(p.put[:])
	t.note(guard.Batch(places, func(some []int) { t.compute(p, some) }, func(some []int) error {
		for i, place := range some {
			if err := t.sums.Put(place, p.pairsOf(i)); err != nil {
				return err
			}
			p.put[place-from] = true
		}
		return nil
	}))
	for i, place := range places {
		if !p.put[i] {
			t.note(t.sums.Put(place, p.nothing))
		}
	}
}

// compute computes the gradients of a few records together. places has the positions of the records
// in the batch. The gradient of the record at places[i] is in row i of the matrices of p.
func (t *Trainer) compute(p *pass, places []int) {
	for i, place := range places {
		record, src := t.batch[place], t.streams[place/math32.TileRows]
		if t.plan != nil {
			src = &p.bits
			t.plan.PlaceBits(src, record)
		}
		p.load(i, t.images[record], src)
	}
	p.encode(len(places))
	t.draw(p, places)
	p.decode(len(places))
	p.reverse(len(places))
}

// draw draws a latent vector for each record, which is in row i of p for the record at position
// places[i] of the batch.
func (t *Trainer) draw(p *pass, places []int) {
	latent := t.network.Latent
	for from, to := 0, 0; from < len(places); from = to {
		tile := places[from] / math32.TileRows
		for to < len(places) && places[to]/math32.TileRows == tile {
			if t.plan != nil {
				t.plan.RecordNormals(p.deviates[to*latent:][:latent], &p.bits, t.batch[places[to]])
			}
			to++
		}
		if t.plan == nil {
			dpmech.FillNormal(p.deviates[from*latent:to*latent], t.streams[tile])
		}
	}
	p.deviate(len(places))
}

// takePiece releases one part of the gradient sum, and moves the weights in this part.
func (t *Trainer) takePiece(worker, task int) {
	i := t.order[task]
	part := t.parts[i]
	gradient := t.scratch[worker][:t.sums.Size(i)]
	if err := t.sums.Release(i, gradient); err != nil {
		t.note(err)
		return
	}
	w, l := t.network.weights[part.Layer], part.Layer
	size := (part.To - part.From) * math32.TileColumns
	for at := part.From * math32.TileColumns; len(gradient) > 0; at += w.Height() * math32.TileColumns {
		t.move.Move(w.Data[at:at+size], t.first[l].Data[at:at+size], t.second[l].Data[at:at+size], gradient[:size])
		gradient = gradient[size:]
	}
	t.network.turn(l, part.From, part.To)
}

// note keeps err for Step to return if it is the first error of the step.
func (t *Trainer) note(err error) {
	if err == nil {
		return
	}
	t.fails.Lock()
	defer t.fails.Unlock()
	if t.failed == nil {
		t.failed = err
	}
}
