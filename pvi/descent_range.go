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
	for i := range d {
		if size := math.Max(math.Abs(change[i]), math.Abs(change[d+i])); size >= room {
			factor := room / size * (1 - 0x1p-50)
			change[i] *= factor
			change[d+i] *= factor
		}
	}
}
