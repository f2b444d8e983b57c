package phase

import (
	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// Ranged is implemented by mechanisms that have bounds on their releases.
type Ranged interface {
	Range() dpmech.Range
	MaxTotal() int64
}

// RangeOf returns the bound on the releases of a mechanism. In studies of version 1 the bound is
// far larger than any noise.
func RangeOf(st *study.Study, m Ranged, clients int) dpmech.Range {
	if st.Version > 1 {
		return m.Range()
	}
	return dpmech.Range{Signal: m.MaxTotal() / int64(clients)}
}
