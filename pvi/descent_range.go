package pvi

import "math"

// shorten makes a change of a factor from gradient steps fit into a message. Steps under
// much noise may end far from where any records lead, at a mean or a precision beyond
// what the study's lattice has room for. Such a coordinate goes as far towards there as a
// message says: the natural parameters of one coordinate shrink by one factor, so that
// the factor lies between the present and the proposed one, and is proper if they are.
// It is a function of what was released.
func (p *Protocol) shorten(change []float64) {
	d := p.family.Dim()
	room := p.lattice.Float(p.limit)
	if p.family.Name() != "diagonal" {
		shortenAll(change, room)
		return
	}
	for i := range d {
		if size := math.Max(math.Abs(change[i]), math.Abs(change[d+i])); size >= room {
			factor := room / size * (1 - 0x1p-50)
			change[i] *= factor
			change[d+i] *= factor
		}
	}
}

// shortenAll is shorten where coordinates are bound together: all shrink by one factor.
func shortenAll(change []float64, room float64) {
	var size float64
	for _, x := range change {
		size = math.Max(size, math.Abs(x))
	}
	if size >= room {
		for i := range change {
			change[i] *= room / size * (1 - 0x1p-50)
		}
	}
}
