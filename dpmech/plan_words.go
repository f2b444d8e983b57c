package dpmech

import (
	"encoding/binary"
	"math"
	"slices"

	"fedpvi/dpmech/internal/stream"
)

// These constants are the positions of the numbers in the words that a device gets (see
// [Plan.Words]). The device's kernels use the same positions. At planLayers there are five words
// for each layer of the noise's ziggurat, and then the exponentials. At planSizes there is the
// distribution function of the batch size: first the highest word of each of the planSizesCount
// entries, and then the three other words of each entry. If batches are listed, planSizes holds the
// list instead: the beginning of the batch of every step and the end of the last batch, then the
// records, two in a word. At the end, from the index in word planDecided on, there are
// planDecidedCount noise samples that Decide computed.
const (
	planKind = iota
	planRecords
	planStepCount
	planDim
	planStep    // lattice step; the words from planStep to planLength contain the bits of float64 numbers
	planPerStep // 1 divided by the lattice step
	planClip    // clip in lattice steps
	planLength  // maximum norm of a vector that is not shortened
	planTwice   // 2σ², twice the variance of the noise in squared lattice steps
	planSlack   // error bound on the density, in units of 2^-unitBits
	planFirst   // smallest size of a batch, or the fixed size
	planSizesCount
	planDecided
	planDecidedCount
	planSamplingKey
	planNoiseKey = planSamplingKey + keyWords
	planDrawsKey = planNoiseKey + keyWords
	planLayers   = planDrawsKey + keyWords
	planCurve    = planLayers + 5*zigguratLayers
	planSizes    = planCurve + len(exponentials{}.whole) + len(exponentials{}.sixteenth) + len(exponentials{}.inverse)

	keyWords = stream.KeySize / 8
)

// Words appends to dst the data that a device needs to compute all steps: keys, tables and the
// parameters of clipping. These data reveal the noise, so they may be copied only to the memory of
// this machine's device. Words returns an error if this machine has already begun to compute the
// steps, or if a device already has them.
func (p *Plan) Words(dst []uint64) ([]uint64, error) {
	if err := p.lend(); err != nil {
		return nil, err
	}
	s, sampler := p.of, p.of.sampler
	if how, err := plannedBatches(sampler); err == nil && how.kind == listedRecords {
		sampler = p.here().sampler // the sampler of this run draws the batches
	}
	g := &s.gate.gate
	return p.appendWords(dst, sampler, s.cfg.Records, planGate{
		dim: s.cfg.Dim, step: s.gate.lattice.Step(), perStep: g.perStep, clip: g.clip, length: g.length,
	}), nil
}

// planGate has the numbers that a device needs to clip records as this package's gate does. The
// clip is in lattice steps.
type planGate struct {
	dim                         int
	step, perStep, clip, length float64
}

// appendWords appends the words of a plan. It writes the keys last, after dst has its final size,
// because growing dst would leave a copy of the keys in memory.
func (p *planSteps) appendWords(dst []uint64, sampler Sampler, records int, g planGate) []uint64 {
	how, err := plannedBatches(sampler)
	if err != nil {
		panic("dpmech: " + err.Error()) // unreachable, because the plan was made for a supported sampling
	}
	at := len(dst)
	most := planSizes + len(p.decided)
	if how.table != nil {
		most += 4 * len(how.table.top)
	}
	dst = slices.Grow(dst, most)[:at+planSizes]
	clear(dst[at:])
	switch {
	case how.kind == listedRecords:
		dst = p.appendBatches(dst, sampler)
	case how.table != nil:
		dst[at+planSizesCount] = uint64(len(how.table.top))
		dst = append(dst, how.table.top...)
		for _, rest := range how.table.rest {
			dst = append(dst, rest[:]...)
		}
	}
	decided := len(dst) - at
	dst = append(dst, p.decided...)
	w := dst[at:]
	w[planDecided], w[planDecidedCount] = uint64(decided), uint64(len(p.decided)/2)
	w[planKind], w[planRecords] = how.kind, uint64(records)
	w[planStepCount], w[planDim] = uint64(p.steps), uint64(g.dim)
	w[planStep] = math.Float64bits(g.step)
	w[planPerStep] = math.Float64bits(g.perStep)
	w[planClip] = math.Float64bits(g.clip)
	w[planLength] = math.Float64bits(g.length)
	w[planFirst] = uint64(how.first)
	if how.kind != listedRecords {
		putKey(w[planSamplingKey:], &p.keys.sampling)
	}
	putKey(w[planNoiseKey:], &p.keys.noise)
	putKey(w[planDrawsKey:], &p.keys.draws)
	if p.noise != nil {
		putNoise(w, p.noise)
	}
	return dst
}

// putNoise writes the tables of the noise sampler z to w, which are the words of a plan.
func putNoise(w []uint64, z *discreteZiggurat) {
	w[planTwice], w[planSlack] = z.curve.twice, slack
	for i := range z.layers {
		l := &z.layers[i]
		copy(w[planLayers+5*i:], []uint64{l.width, l.from, l.span, l.foot, l.rise})
	}
	tables := append(w[planCurve:planCurve], z.curve.whole[:]...)
	tables = append(tables, z.curve.sixteenth[:]...)
	_ = append(tables, z.curve.inverse[:]...)
}

func (p *planSteps) appendBatches(dst []uint64, sampler Sampler) []uint64 {
	var records []uint32
	for step := range uint32(p.steps) {
		dst = append(dst, uint64(len(records)))
		records = p.appendBatch(records, sampler, step)
	}
	dst = append(dst, uint64(len(records)))
	for pair := range slices.Chunk(records, 2) {
		w := uint64(pair[0])
		if len(pair) > 1 {
			w |= uint64(pair[1]) << 32
		}
		dst = append(dst, w)
	}
	clear(records)
	return dst
}

func putKey(dst []uint64, key *[stream.KeySize]byte) {
	for i := range keyWords {
		dst[i] = binary.LittleEndian.Uint64(key[8*i:])
	}
}
