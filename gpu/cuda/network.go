package cuda

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/dpmech"
)

// A NetworkConfig describes the variational autoencoder that a device trains (see package gpu/vae).
type NetworkConfig struct {
	Pixels, Hidden, Latent int
	Batch                  int // maximum number of records in a batch
	Private                bool

	// Beta1 and Beta2 are Adam's decay rates, and Epsilon is its ε. Adam gets gradients that are
	// multiplied by Scale.
	Beta1, Beta2, Epsilon, Scale float64
}

// maxNetworkSide and maxBatch limit the sizes of a network's layers and of a batch.
const (
	maxNetworkSide = 1 << 14
	maxBatch       = 1 << 13
)

const networkLayers = 4

// layers returns the sizes of the layers in the order of gpu/vae.
func (c *NetworkConfig) layers() [networkLayers]dpmech.ProductLayer {
	return [...]dpmech.ProductLayer{
		{Inputs: c.Pixels + 1, Outputs: c.Hidden},
		{Inputs: c.Hidden + 1, Outputs: 2 * c.Latent},
		{Inputs: c.Latent + 1, Outputs: c.Hidden},
		{Inputs: c.Hidden + 1, Outputs: c.Pixels},
	}
}

// Places returns the number of elements in the weight array, including padding. The array has one
// layer after another, row by row. Each row is padded to a multiple of eight elements. A plan
// numbers its noise samples in the same order.
func (c *NetworkConfig) Places() (n int) {
	for _, l := range c.layers() {
		n += l.Inputs * l.PlanStride()
	}
	return n
}

func (c *NetworkConfig) check() error {
	for _, side := range []int{c.Pixels, c.Hidden, c.Latent} {
		if side < 1 || side > maxNetworkSide {
			return fmt.Errorf("cuda: pixels, hidden units and latent dimensions must lie in [1, %d], got %d, %d and %d", maxNetworkSide, c.Pixels, c.Hidden, c.Latent)
		}
	}
	if c.Batch < 1 || c.Batch > maxBatch {
		return fmt.Errorf("cuda: the largest batch must have 1 to %d records, got %d", maxBatch, c.Batch)
	}
	return nil
}

// A struct of 64-bit words describes a network to the device. networkPlan and the constants after
// it are the indices of these words. They must match the order of the fields in the kernels.
const (
	networkPlan = iota
	networkImages
	networkImageStride
	networkPixels
	networkHidden
	networkLatent
	networkRows
	networkDrawn
	networkBatches
	networkMoves
	networkWeights
	networkFirst
	networkSecond
	networkIn
	networkOut      = networkIn + networkLayers
	networkSlope    = networkOut + networkLayers
	networkDeviates = networkSlope + 2
	networkReleases = networkDeviates + 1
	networkNoise    = networkReleases + 1
	networkDecay1   = networkNoise + 1
	networkDecay2   = networkDecay1 + 1
	networkEpsilon  = networkDecay2 + 1
	networkScale    = networkEpsilon + 1
	networkOpen     = networkScale + 1
	networkNext     = networkOpen + 1
	networkCurrent  = networkNext + 1
	networkCount    = networkCurrent + 1
	networkWords    = networkCount + 1
)

// A Network is an autoencoder whose records are in a device's memory. It is not safe for concurrent
// use. The caller must close it.
type Network struct {
	device  Device
	cfg     NetworkConfig
	records int
	memory  uint64
	head    []uint64 // content of the kernel's struct, as it is copied to the device's memory
	state   uint64   // address of the weights and of Adam's moments

	step   func(times int) error // runs the launches of a step the given number of times
	forget func() error

	// current has the weights and Adam's moments after the last plan that succeeded, as 64-bit
	// words. The results of the next plan are read into next. If the plan succeeds, current and
	// next are swapped.
	current, next []uint64
	moved         bool // whether the device's copy may differ from current, for example because a plan has failed
}

// words returns the number of 64-bit words that n 32-bit numbers fill.
func words(n int) int { return (n + 1) / 2 }

// NewNetwork copies images to a device, allocates the device's memory for a network, and sets the
// weights to zero. An image has one byte per pixel.
func NewNetwork(d Device, cfg NetworkConfig, images [][]byte) (*Network, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	stride := (cfg.Pixels + 7) / 8
	pixels := make([]uint64, stride*len(images))
	for i, image := range images {
		if len(image) != cfg.Pixels {
			return nil, fmt.Errorf("cuda: image %d has %d pixels, want %d", i, len(image), cfg.Pixels)
		}
		for j, x := range image {
			pixels[stride*i+j/8] |= uint64(x) << (j % 8 * 8)
		}
	}
	n := &Network{device: d, cfg: cfg, records: len(images), head: make([]uint64, networkWords)}
	total := n.place(stride, len(pixels))
	var err error
	if n.memory, err = d.Alloc(8 * total); err != nil {
		return nil, fmt.Errorf("cuda: a network and %d images: %w", len(images), err)
	}
	n.address()
	if err = d.Write(n.head[networkImages], pixels); err == nil {
		err = n.upload()
	}
	if err == nil {
		n.step, n.forget, err = record(d, n.launches)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: a network and %d images: %w", len(images), err), d.Free(n.memory))
	}
	return n, nil
}

// place lays out the device's memory. It gives each array an offset in 64-bit words, and returns
// the total number of words. stride is the number of words per image, and pixels is that for all
// images.
func (n *Network) place(stride, pixels int) (total int) {
	c, h := &n.cfg, n.head
	at := uint64(networkWords)
	take := func(field, words int) {
		h[field] = at
		at += uint64(words)
	}
	state := words(c.Places())
	n.current, n.next = make([]uint64, 3*state), make([]uint64, 3*state)
	for _, field := range []int{networkWeights, networkFirst, networkSecond} {
		take(field, state)
	}
	for l, layer := range c.layers() {
		take(networkIn+l, words(c.Batch*((layer.Inputs+7)/8*8)))
		take(networkOut+l, words(c.Batch*layer.PlanStride()))
	}
	for i := range 2 {
		take(networkSlope+i, words(c.Batch*((c.Hidden+7)/8*8)))
	}
	take(networkDeviates, words(c.Batch*c.Latent))
	take(networkImages, pixels)
	h[networkImageStride] = uint64(8 * stride)
	h[networkPixels], h[networkHidden], h[networkLatent], h[networkRows] = uint64(c.Pixels), uint64(c.Hidden), uint64(c.Latent), uint64(c.Batch)
	appendFloats(h[networkDecay1:networkDecay1], []float64{1 - c.Beta1, 1 - c.Beta2, c.Epsilon, c.Scale})
	return int(at)
}

// address replaces the offsets of the arrays by addresses.
func (n *Network) address() {
	fields := []int{networkImages, networkWeights, networkFirst, networkSecond, networkSlope, networkSlope + 1, networkDeviates}
	for l := range networkLayers {
		fields = append(fields, networkIn+l, networkOut+l)
	}
	for _, f := range fields {
		n.head[f] = n.memory + 8*n.head[f]
	}
	n.state = n.head[networkWeights]
}

// Close frees the device's memory.
func (n *Network) Close() error { return errors.Join(n.forget(), n.device.Free(n.memory)) }

// Places returns the number of elements in the array of weights. See [NetworkConfig.Places].
func (n *Network) Places() int { return n.cfg.Places() }

// State returns the weights and Adam's moments after the last plan that succeeded, in the order
// that [NetworkConfig.Places] describes.
func (n *Network) State() (weights, first, second []float32) {
	size, at := n.cfg.Places(), len(n.current)/3
	part := func(i int) []float32 { return unpack(make([]float32, size), n.current[i*at:]) }
	return part(0), part(1), part(2)
}

// SetState replaces the weights and Adam's moments in n and on the device. The arguments are in the
// order that [NetworkConfig.Places] describes.
func (n *Network) SetState(weights, first, second []float32) error {
	size, at := n.cfg.Places(), len(n.current)/3
	for i, v := range [][]float32{weights, first, second} {
		if len(v) != size {
			return fmt.Errorf("cuda: a network of %d places, got %d", size, len(v))
		}
		pack(n.current[i*at:], v)
	}
	if err := n.upload(); err != nil {
		return fmt.Errorf("cuda: a network: %w", err)
	}
	return nil
}

func (n *Network) upload() error {
	err := n.device.Write(n.state, n.current)
	n.moved = err != nil
	return err
}

// pack writes the numbers v to dst, two per word. The first of the two is in the lower half of the
// word.
func pack(dst []uint64, v []float32) []uint64 {
	clear(dst[:words(len(v))])
	for i, x := range v {
		dst[i/2] |= uint64(math.Float32bits(x)) << (i % 2 * 32)
	}
	return dst
}

func unpack(dst []float32, from []uint64) []float32 {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(from[i/2] >> (i % 2 * 32)))
	}
	return dst
}
