package dpmech

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"fedpvi/dpmech/internal/stream"
)

// The words of a plan, by their places; the device's kernels have the same list. From
// planLayers on there are five words for each layer of the noise's ziggurat, then the
// exponentials, and from planSizes on the distribution function of the size of a batch:
// planSizesCount highest words, and then three more words of each entry. Where batches are
// listed they begin there: where each step's begin and the last one ends, and then records,
// two in a word.
const (
	planKind = iota
	planRecords
	planSteps
	planDim
	planStep    // of the lattice, as the bits of a float64, like the next three
	planPerStep // its reciprocal
	planClip    // in steps
	planLength  // of a vector that is not clipped
	planTwice   // 2σ²
	planSlack   // of the bounds of the density
	planFirst   // the least size of a batch, or the only one
	planSizesCount
	planSamplingKey
	planNoiseKey = planSamplingKey + keyWords
	planDrawsKey = planNoiseKey + keyWords
	planLayers   = planDrawsKey + keyWords
	planCurve    = planLayers + 5*zigguratLayers
	planSizes    = planCurve + len(exponentials{}.whole) + len(exponentials{}.sixteenth) + len(exponentials{}.inverse)

	keyWords = stream.KeySize / 8
)

// Words appends to dst what a device has to know to take all steps: keys, tables and
// the numbers of the gate. Whoever has them knows the noise: they go to the memory of
// this machine's device, and nowhere else. It refuses a plan of which a step was taken,
// or that a device has.
func (p *Plan) Words(dst []uint64) ([]uint64, error) {
	if p.lent || p.begun > 0 {
		return nil, errors.New("plan: its steps are taken elsewhere")
	}
	p.lent = true
	s := p.run.of
	how, err := s.batches()
	if err != nil {
		panic("dpmech: " + err.Error()) // unreachable: SampledRun.Plan asked
	}
	at := len(dst)
	dst = append(dst, make([]uint64, planSizes)...)
	w := dst[at:]
	w[planKind], w[planRecords] = how.kind, uint64(s.cfg.Records)
	w[planSteps], w[planDim] = uint64(p.steps), uint64(s.cfg.Dim)
	g := &s.gate.gate
	w[planStep] = math.Float64bits(s.gate.lattice.Step())
	w[planPerStep] = math.Float64bits(g.perStep)
	w[planClip] = math.Float64bits(g.clip)
	w[planLength] = math.Float64bits(g.length)
	z := s.gate.noise.layers
	w[planTwice], w[planSlack] = z.curve.twice, slack
	w[planFirst] = uint64(how.first)
	if how.kind != listedRecords {
		putKey(w[planSamplingKey:], &p.keys.sampling)
	}
	putKey(w[planNoiseKey:], &p.keys.noise)
	putKey(w[planDrawsKey:], &p.keys.draws)
	for i := range z.layers {
		l := &z.layers[i]
		copy(w[planLayers+5*i:], []uint64{l.width, l.from, l.span, l.foot, l.rise})
	}
	tables := append(w[planCurve:planCurve], z.curve.whole[:]...)
	tables = append(tables, z.curve.sixteenth[:]...)
	_ = append(tables, z.curve.inverse[:]...)
	switch {
	case how.kind == listedRecords:
		return p.appendBatches(dst), nil
	case how.table == nil:
		return dst, nil
	}
	w[planSizesCount] = uint64(len(how.table.top))
	dst = append(dst, how.table.top...)
	for _, rest := range how.table.rest {
		dst = append(dst, rest[:]...)
	}
	return dst, nil
}

// appendBatches appends the batches of all steps.
func (p *Plan) appendBatches(dst []uint64) []uint64 {
	var records []uint32
	for step := range uint32(p.steps) {
		dst = append(dst, uint64(len(records)))
		records = p.appendBatch(records, step)
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
