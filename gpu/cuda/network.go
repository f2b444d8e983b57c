package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
)

// A NetworkConfig says which variational autoencoder a device trains (package gpu/vae), and how.
type NetworkConfig struct {
	Pixels, Hidden, Latent int
	Together               int // most records of a batch that are added up at once: that of the plans
	Private                bool

	// Adam's decay rates and ε, and what gradients are multiplied by.
	Beta1, Beta2, Epsilon, Scale float64
}

// Limits of a network's sizes and of a batch.
const (
	maxNetworkSide = 1 << 14
	maxTogether    = 1 << 12
)

const networkLayers = 4

// layers returns the sizes of the layers, as gpu/vae has them.
func (c *NetworkConfig) layers() [networkLayers]dpmech.ProductLayer {
	return [...]dpmech.ProductLayer{
		{Inputs: c.Pixels + 1, Outputs: c.Hidden},
		{Inputs: c.Hidden + 1, Outputs: 2 * c.Latent},
		{Inputs: c.Latent + 1, Outputs: c.Hidden},
		{Inputs: c.Hidden + 1, Outputs: c.Pixels},
	}
}

// Places returns how many weights there is room for: row after row, layer after layer, in
// rows of whole eights, as a plan numbers its samples.
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
	if c.Together < 1 || c.Together > maxTogether {
		return fmt.Errorf("cuda: 1 to %d records of a batch can be added up at once, got %d", maxTogether, c.Together)
	}
	return nil
}

// The words of a network, in the order of the kernel's struct.
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
	networkOut       = networkIn + networkLayers
	networkSlope     = networkOut + networkLayers
	networkDeviates  = networkSlope + 2
	networkReleases  = networkDeviates + 1
	networkDecay1    = networkReleases + 1
	networkDecay2    = networkDecay1 + 1
	networkEpsilon   = networkDecay2 + 1
	networkScale     = networkEpsilon + 1
	networkUndecided = networkScale + 1
	networkNext      = networkUndecided + 1
	networkCurrent   = networkNext + 1
	networkCount     = networkCurrent + 1
	networkWords     = networkCount + 1
)

// A Network is an autoencoder with its records in a device's memory. It is not safe for
// concurrent use. Close it.
type Network struct {
	device  Device
	cfg     NetworkConfig
	records int
	memory  uint64
	head    []uint64 // what the kernels find at memory
	state   uint64   // where weights and Adam's moments are

	step   func(times int) error // plays the launches of a step
	forget func() error

	// Words of weights and moments: as they are, and room for those after the next plan.
	current, next []uint64
}

// words returns how many words so many numbers of 32 bits take.
func words(n int) int { return (n + 1) / 2 }

// NewNetwork copies images, of a byte for each pixel, to a device, beside room for a network
// with weights of zero.
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

// place gives everything that stays its place in memory, as a number of words from its
// beginning, and returns how many there are.
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
		take(networkIn+l, words(c.Together*((layer.Inputs+7)/8*8)))
		take(networkOut+l, words(c.Together*layer.PlanStride()))
	}
	for i := range 2 {
		take(networkSlope+i, words(c.Together*((c.Hidden+7)/8*8)))
	}
	take(networkDeviates, words(c.Together*c.Latent))
	take(networkImages, pixels)
	h[networkImageStride] = uint64(8 * stride)
	h[networkPixels], h[networkHidden], h[networkLatent], h[networkRows] = uint64(c.Pixels), uint64(c.Hidden), uint64(c.Latent), uint64(c.Together)
	appendFloats(h[networkDecay1:networkDecay1], []float64{1 - c.Beta1, 1 - c.Beta2, c.Epsilon, c.Scale})
	return int(at)
}

// address makes addresses of places.
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

// Close gives the device's memory back.
func (n *Network) Close() error { return errors.Join(n.forget(), n.device.Free(n.memory)) }

// Places is that of the network's config.
func (n *Network) Places() int { return n.cfg.Places() }

// State returns the weights and Adam's moments, as [NetworkConfig.Places] has them, that the
// last plan which was taken left.
func (n *Network) State() (weights, first, second []float32) {
	size, at := n.cfg.Places(), len(n.current)/3
	part := func(i int) []float32 { return unpack(make([]float32, size), n.current[i*at:]) }
	return part(0), part(1), part(2)
}

// SetState replaces them, here and on the device.
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

func (n *Network) upload() error { return n.device.Write(n.state, n.current) }

// pack writes numbers to words, two to each, the first one lower; unpack reads them.
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

// A NetworkPlan is a [dpmech.ProductPlan], or a [dpmech.BatchPlan] without privacy.
type NetworkPlan interface {
	Steps() int
	Records() int
	Together() int
	Words(dst []uint64) ([]uint64, error)
	Reclaim()
	Wipe()
}

// Take takes all steps of a plan, for which moves has two numbers each: the rate of Adam
// over 1−β₁ᵗ, and 1/(1−β₂ᵗ). Releases, if it is not nil, takes the noisy sums, in steps of
// the plan's lattice: those of a step beside each other, as Places has them.
//
// taken is false where the device left a comparison open or a batch is larger than
// Together, and after an error. State is then as it was, and the steps are to be taken with
// the plan's own methods, after Reclaim, for the first time that anybody sees. Where it is
// true the plan is wiped.
func (n *Network) Take(plan NetworkPlan, moves []float32, releases []int64) (taken bool, err error) {
	if err := n.fits(plan, moves, releases); err != nil {
		return false, fmt.Errorf("cuda: %w", err)
	}
	if taken, err = n.take(plan, moves, releases); err != nil {
		return false, fmt.Errorf("cuda: %d steps of a network: %w", plan.Steps(), err)
	}
	if taken {
		plan.Wipe()
	}
	return taken, nil
}

func (n *Network) fits(plan NetworkPlan, moves []float32, releases []int64) error {
	private, ok := plan.(*dpmech.ProductPlan)
	layers := n.cfg.layers()
	switch {
	case ok != n.cfg.Private:
		return errors.New("a plan with a promise for a network without one, or the other way round")
	case ok && !slices.Equal(private.Layers(), layers[:]):
		return errors.New("the plan is for other layers")
	case plan.Records() != n.records:
		return fmt.Errorf("the plan is for %d records, there are %d", plan.Records(), n.records)
	case plan.Together() != n.cfg.Together:
		return fmt.Errorf("the plan adds %d records up at once, the network %d", plan.Together(), n.cfg.Together)
	case len(moves) != 2*plan.Steps():
		return fmt.Errorf("%d numbers for %d steps, want two each", len(moves), plan.Steps())
	case releases != nil && (!ok || len(releases) != plan.Steps()*n.cfg.Places()):
		return fmt.Errorf("room for %d released numbers, want %d", len(releases), plan.Steps()*n.cfg.Places())
	}
	return nil
}

// take takes the steps in memory of their own, of which keys and batches are wiped.
func (n *Network) take(plan NetworkPlan, moves []float32, releases []int64) (taken bool, err error) {
	secret, err := plan.Words(nil)
	if err != nil {
		return false, err
	}
	defer clear(secret)
	steps, rows := plan.Steps(), n.cfg.Together
	batches, drawn := words(steps*(rows+1)), words(steps*rows)
	wiped := len(secret) + batches + drawn
	memory, err := n.device.Alloc(8 * (wiped + steps + len(releases)))
	if err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, n.device.Write(memory, make([]uint64, wiped)), n.device.Free(memory))
		taken = taken && err == nil
	}()
	address := func(place int) uint64 { return memory + uint64(8*place) }
	h := slices.Clone(n.head)
	h[networkPlan], h[networkBatches], h[networkDrawn] = memory, address(len(secret)), address(len(secret)+batches)
	h[networkMoves] = address(wiped)
	if releases != nil {
		h[networkReleases] = address(wiped + steps)
	}
	rates := pack(make([]uint64, steps+len(releases)), moves) // and zeros, where nobody writes between rows
	if err := errors.Join(n.device.Write(memory, secret), n.device.Write(address(wiped), rates), n.device.Write(n.memory, h)); err != nil {
		return false, err
	}
	return n.play(h, steps, releases)
}

// play runs the steps and reads what they came to.
func (n *Network) play(h []uint64, steps int, releases []int64) (taken bool, err error) {
	if err := n.device.Launch("network_batches", steps, mostThreads, 8*batchWords, n.memory); err != nil {
		return false, err
	}
	if err := n.step(steps); err != nil {
		return false, err
	}
	released := h[networkReleases]
	if err := n.device.Read(h, n.memory); err != nil {
		return false, err
	}
	if h[networkUndecided] != 0 {
		return false, n.upload()
	}
	if h[networkNext] != uint64(steps) {
		return false, fmt.Errorf("%d steps were taken, not %d", h[networkNext], steps)
	}
	if err := n.device.Read(n.next, n.state); err != nil {
		return false, err
	}
	if releases != nil {
		sums := make([]uint64, len(releases))
		if err := n.device.Read(sums, released); err != nil {
			return false, err
		}
		for i, x := range sums {
			releases[i] = int64(x)
		}
	}
	n.current, n.next = n.next, n.current
	return true, nil
}
