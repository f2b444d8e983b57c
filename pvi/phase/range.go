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

// RangeOf returns the bounds on an element of a message from the mechanism m. In version 1 they are
// far wider than the noise requires.
func RangeOf(st *study.Study, m Ranged, clients int) dpmech.Range {
	if st.Version > 1 {
		return m.Range()
	}
	return dpmech.Range{Signal: m.MaxTotal() / int64(clients)}
}
