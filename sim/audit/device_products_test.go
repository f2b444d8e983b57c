//go:build emulator && !cuda

package audit

import (
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/emulator"
)

// A substitute is a device that replaces the gradients of a network by vectors of the test's
// choice, just before they are clipped. The audit then tests the clipping, the matrix products, the
// noise and the release. The fields tamper and clips can add faults.
type substitute struct {
	*emulator.Device
	vector func(v []float64, record uint32)
	tamper func(plan []uint64)
	clips  bool
	of     descent // the mechanism under audit
}

// Constants whose names begin with head are offsets of words in the device's memory for a network
// with one pixel, one hidden unit and one latent dimension. Tests of package cuda check them.
const (
	headBatches  = 8
	headIn       = 13
	headOut      = 17
	headCurrent  = 32
	headWords    = 34
	together     = 2  // some batches have more records
	mostInBatch  = 13 // largest batch; that many 32-bit numbers, together with their length, fill whole 64-bit words
	productSlots = 2 * 8 * 4
)

// slots tells how each element of a test vector enters the network. The gradient of weight number
// slot contains the element. layer and column locate the derivative that the test overwrites with
// it.
var slots = [descentDim]struct{ slot, layer, column int }{{16, 1, 0}, {17, 1, 1}, {0, 0, 0}, {32, 2, 0}}

func (s *substitute) Write(memory uint64, words []uint64) error {
	if s.tamper != nil && len(words) > layersWord+layerWords {
		s.tamper(words)
	}
	return s.Device.Write(memory, words)
}

func (s *substitute) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	if kernel == "network_clip" {
		if err := s.replace(arguments[0]); err != nil || !s.clips {
			return err
		}
	}
	return s.Device.Launch(kernel, blocks, threads, shared, arguments...)
}

// replace overwrites the derivatives in the device's memory, so that the gradient of each record in
// the batch is the vector from s.vector.
func (s *substitute) replace(memory uint64) error {
	head, list := make([]uint64, headWords), make([]uint64, (mostInBatch+1)/2)
	if err := s.Read(head, memory); err != nil {
		return err
	}
	if err := s.Read(list, head[headBatches]+head[headCurrent]*4*(mostInBatch+1)); err != nil {
		return err
	}
	batch := func(i int) uint32 { return uint32(list[i/2] >> (i % 2 * 32)) }
	v := make([]float64, descentDim)
	for place := range int(batch(0)) {
		s.vector(v, batch(1+place))
		for layer := range 4 {
			out := make([]uint64, 4)
			for i, at := range slots {
				if at.layer == layer {
					out[0] |= uint64(math.Float32bits(float32(v[i]))) << (32 * at.column)
				}
			}
			in := []uint64{uint64(math.Float32bits(1)), 0, 0, 0}
			at := uint64(32 * place)
			if err := s.Device.Write(head[headIn+layer]+at, in); err != nil {
				return err
			}
			if err := s.Device.Write(head[headOut+layer]+at, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// deviceProducts is a mechanism that computes sums of matrix products on a device.
type deviceProducts struct {
	*dpmech.ProductSum
	device  *substitute
	records int
}

func (d descent) onProducts(device *substitute) descent {
	d.adds = func(d descent, records int) (steps, error) {
		m, err := dpmech.NewProductSum(dpmech.ProductConfig{
			Sampling: d.sampling, Records: records, Steps: d.steps, Together: together,
			Layers: []dpmech.ProductLayer{{Inputs: 2, Outputs: 1}, {Inputs: 2, Outputs: 2}, {Inputs: 2, Outputs: 1}, {Inputs: 2, Outputs: 1}},
			Clip:   descentClip, NoiseMultiplier: d.noise, Adjacency: d.adjacency,
		})
		return deviceProducts{m, device, records}, err
	}
	return d
}

func (m deviceProducts) play(released [][]float64, streams *dpmech.Streams, vector func(v []float64, record uint32)) error {
	m.device.vector = vector
	images := make([][]byte, m.records)
	for i := range images {
		images[i] = []byte{1}
	}
	n, err := cuda.NewNetwork(m.device, cuda.NetworkConfig{
		Pixels: 1, Hidden: 1, Latent: 1, Batch: mostInBatch, Private: true, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Scale: 1,
	}, images)
	if err != nil {
		return err
	}
	defer n.Close()
	run, err := m.Begin(seeded.Streams(1, "unused"))
	if err != nil {
		return err
	}
	plan, err := run.Plan(len(released), streams, seeded.Stream(1, "draws"))
	if err != nil {
		return err
	}
	sums := make([]int64, len(released)*productSlots)
	if err := n.Take(plan, make([]float32, 2*len(released)), sums); err != nil {
		return err
	}
	for step, seen := range released {
		for i, at := range slots {
			seen[i] = m.Lattice().Float(sums[step*productSlots+at.slot])
		}
	}
	return nil
}

// auditProducts audits sums that a device computes, and describes the checks that fail.
func (d descent) auditProducts(t *testing.T, device *substitute, seed uint64, runs int) []string {
	t.Helper()
	d = d.onProducts(device)
	const alpha = 1e-7 // small, because the test makes four checks in three cases and with five faults
	return failures(t, task{seed, runs, alpha}, aboutNoise(d.name, d.quiet), lazily(d.name, d.attack))
}

var productCases = []descent{
	{"a device, products, poisson, add-remove", dpmech.Poisson{Rate: 0.25}, 0.25, 12, 1, 0.5, accountant.AddRemove, 0, nil},
	{"a device, products, full batches, replace-one", dpmech.FullBatch{}, 1, 12, 1, 2, accountant.ReplaceOne, 0, nil},
	{"a device, products, poisson by the network, replace-one", dpmech.Poisson{Rate: 0.25, Selection: dpmech.Feistel}, 0.25, 12, 1, 0.5, accountant.ReplaceOne, 0, nil},
}

// The emulator would take a minute, so only make test-cuda runs this test.
func TestAuditOfProductsOnACard(t *testing.T) {
	for i, d := range productCases {
		for _, finding := range d.auditProducts(t, &substitute{Device: new(emulator.Device), clips: true}, uint64(i+1), 200) {
			t.Errorf("%s: %s", d.name, finding)
		}
	}
}

// The audit must find every way in which a device can depart from its plan.
func TestAuditFindsTamperingCard(t *testing.T) {
	full, poisson := productCases[1], productCases[2]
	var key []uint64 // key of the noise in the first plan
	for name, device := range map[string]*substitute{
		"no clipping":             {of: full},
		"a wide clip":             {of: full, clips: true, tamper: func(plan []uint64) { plan[lengthWord-1] = math.Float64bits(100) }},
		"a record in every batch": {of: poisson, clips: true, tamper: func(plan []uint64) { plan[kindWord] = 0 }},
		"the same noise in every run": {of: full, clips: true, tamper: func(plan []uint64) {
			if key == nil {
				key = append(key, plan[noiseKeyWord:noiseKeyWord+4]...)
			}
			copy(plan[noiseKeyWord:], key)
		}},
		"less noise": {of: full, clips: true, tamper: func(plan []uint64) {
			for i := range 256 { // this fault scales each layer of the noise to three quarters of its width
				w := plan[layersWord+5*i:]
				w[0] = w[0] / 4 * 3
			}
		}},
	} {
		device.Device = new(emulator.Device)
		found := device.of.auditProducts(t, device, 9, 100)
		t.Logf("%s: %v", name, found)
		if len(found) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}
