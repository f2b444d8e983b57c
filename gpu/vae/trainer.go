package vae

import (
	"errors"
	"fmt"
	"sync"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/internal/single"
)

// Options say how a network is trained.
type Options struct {
	Rate    float64 // of Adam
	Batch   float64 // what sums are divided by: the expected size of a batch, or another public number
	Workers int     // goroutines; the result does not depend on it
}

// A Trainer moves a network's weights step by step.
type Trainer struct {
	network *Network
	images  [][]byte
	sums    Sums
	parts   []dpmech.ProductPart
	options Options

	crew    *crew
	passes  []*pass          // of workers
	scratch [][]float32      // of workers: a part's gradient
	streams []*dpmech.Stream // of chunks of a batch, so that it does not matter who takes which
	adam    single.Adam
	first   [layers]single.Panels
	second  [layers]single.Panels
	plan    Planned       // the steps under way, nil if they are no plan's
	card    *cuda.Network // nil for none
	behind  bool          // weights and moments here are older than those of card

	// Of the step under way.
	batch        []uint32
	move         single.AdamStep
	chunk, piece func(worker, task int)
	failed       error
	fails        sync.Mutex
}

// NewTrainer returns a trainer of a network on images, of one byte for each pixel, that
// sums chooses from, with at most most in a batch. Random bits of images and latent vectors come
// from streams split from src. Close it.
//
// Without sums it takes plans alone, by [Trainer.TakePlan].
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
		network: n, images: images, options: options, crew: newCrew(options.Workers), adam: single.Adam{Beta1: .9, Beta2: .999, Epsilon: 1e-8},
	}
	for range options.Workers {
		t.passes = append(t.passes, newPass(n))
	}
	t.scratch = make([][]float32, options.Workers)
	if sums != nil {
		t.use(sums)
	}
	for range chunksOf(most) {
		s := new(dpmech.Stream)
		dpmech.Split(s, src)
		t.streams = append(t.streams, s)
	}
	for l, layer := range n.Layers() {
		t.first[l], t.second[l] = single.NewPanels(layer.Inputs, layer.Outputs), single.NewPanels(layer.Inputs, layer.Outputs)
	}
	t.chunk, t.piece = t.takeChunk, t.takePiece
	return t, nil
}

// use makes sums those of the next steps.
func (t *Trainer) use(sums Sums) {
	t.sums, t.parts = sums, sums.Parts()
	size := 0
	for i := range t.parts {
		size = max(size, sums.Size(i))
	}
	for i := range t.scratch {
		if len(t.scratch[i]) < size {
			t.scratch[i] = make([]float32, size)
		}
	}
}

func chunksOf(records int) int { return (records + recordsAtOnce - 1) / recordsAtOnce }

// Close ends the trainer's goroutines, and gives a device's memory back.
func (t *Trainer) Close() error {
	t.crew.close()
	if t.card == nil {
		return nil
	}
	return t.card.Close()
}

// Step takes one step: a batch, its gradients, their released sum, Adam. It allocates
// nothing. An error is a mechanism's that has no step left, or a broken invariant.
func (t *Trainer) Step() error {
	var err error
	if t.batch, err = t.sums.Next(); err != nil {
		return err
	}
	if chunksOf(len(t.batch)) > len(t.streams) {
		return fmt.Errorf("trainer: a batch of more than %d records", len(t.streams)*recordsAtOnce)
	}
	t.crew.do(chunksOf(len(t.batch)), t.chunk)
	t.move = t.adam.Next(t.options.Rate, 1/t.options.Batch)
	t.crew.do(len(t.parts), t.piece)
	return t.failed
}

// takeChunk puts the gradients of a chunk of the batch.
func (t *Trainer) takeChunk(worker, task int) {
	p, src := t.passes[worker], t.streams[task]
	from := task * recordsAtOnce
	batch := t.batch[from:min(from+recordsAtOnce, len(t.batch))]
	for i, record := range batch {
		if t.plan != nil {
			src = &p.bits
			t.plan.PlaceBits(src, record)
		}
		p.load(i, t.images[record], src)
	}
	p.encode(len(batch))
	if t.plan != nil {
		for i, record := range batch {
			t.plan.RecordNormals(p.deviates[i*p.of.Latent:][:p.of.Latent], &p.bits, record)
		}
		p.deviate(len(batch))
	} else {
		p.draw(len(batch), src)
	}
	p.decode(len(batch))
	p.reverse(len(batch))
	for i := range batch {
		t.note(t.sums.Put(from+i, p.pairsOf(i)))
	}
}

// takePiece moves the weights of a part.
func (t *Trainer) takePiece(worker, task int) {
	part := t.parts[task]
	gradient := t.scratch[worker][:t.sums.Size(task)]
	if err := t.sums.Release(task, gradient); err != nil {
		t.note(err)
		return
	}
	w, l := t.network.weights[part.Layer], part.Layer
	size := (part.To - part.From) * single.TileColumns
	for at := part.From * single.TileColumns; len(gradient) > 0; at += w.Height() * single.TileColumns {
		t.move.Move(w.Data[at:at+size], t.first[l].Data[at:at+size], t.second[l].Data[at:at+size], gradient[:size])
		gradient = gradient[size:]
	}
	t.network.turn(l, part.From, part.To)
}

// note keeps the first error.
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
