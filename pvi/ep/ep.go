package ep

import (
	"math"

	"fedpvi/internal/special"
)

// Options are the options of [EP].
type Options struct {
	Power     float64 // power of the likelihood, in (0, 1], the same as in the Tilted
	Damping   float64 // share of the way to the new site that one update takes, in (0, 1]
	Passes    int     // largest number of passes over the records
	Tolerance float64 // EP has settled if a pass changes no natural parameter by more than Tolerance·(1 + |parameter|)
}

// EP is expectation propagation with one site for every record (Minka 2001). It writes the product
// of all sites to dst, and returns the number of passes and whether it has settled. In each pass it
// skips records whose cavity is not proper. With a full covariance it needs O(Nd²) memory for N
// records and d coordinates, so it serves only as the reference for [SEP] on small data.
func EP(dst, prior []float64, t Tilted, o Options) (passes int, settled bool) {
	size := len(prior)
	c := newCavity(t.Family())
	sites := make([]float64, size*t.Records())
	site, natural := make([]float64, t.Size()), make([]float64, size)
	clear(dst)
	for passes = 1; passes <= o.Passes; passes++ {
		var change float64
		for i := range t.Records() {
			own := sites[i*size : (i+1)*size]
			for k := range own {
				c.Natural[k] = prior[k] + dst[k] - o.Power*own[k]
			}
			if !c.solve() {
				change = math.Inf(1)
				continue
			}
			t.Set(&c.Approximation)
			t.Site(site, i)
			if !special.Finite(site) {
				continue
			}
			t.Expand(natural, site)
			shift(natural, c.Mean, c.entries)
			for k, x := range natural {
				move := o.Damping * (x - own[k])
				own[k] += move
				dst[k] += move
				change = max(change, math.Abs(move)/(1+math.Abs(dst[k])))
			}
		}
		if change <= o.Tolerance {
			return passes, true
		}
	}
	return o.Passes, false
}
