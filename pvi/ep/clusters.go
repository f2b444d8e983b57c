package ep

import (
	"math"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// A Clusters matches the records of a mixture of K normal clusters with independent
// variables, whose weights, means and sds are all learned. θ is K − 1 sticks u_j, then for
// each variable the K means and the K log sds; cluster j has a share σ(u_j − log(K−1−j)) of
// what clusters before it leave, j from 0 on, so that u = 0 stands for equal weights.
//
// Under a diagonal cavity a record is of cluster k with probability r_k ∝ E[w_k]·Π_v E[N(x_v |
// μ_kv, s_kv²)], and given that coordinates are independent: a stick is tilted by its share or
// by what it leaves, a mean and a log sd by one variable of the record. So all moments of the
// tilted distribution are mixtures, over k, of integrals over one sd or one stick, for which
// a Gauss–Hermite rule stands.
type Clusters struct {
	weighted
	clusters, variables int
	x                   []float64 // by records
	share               float64   // of the prior of the weights
	family              gaussian.Family

	at      *solver.Approximation
	spreads []*spreadRule // by variables and clusters
	sticks  []stick
	weights []float64 // log E[w]
	chance  []float64 // r
	beyond  []float64 // of r, of the clusters after each stick
}

// NewClusters returns the records x, one row of variables each, as expectation
// propagation of a diagonal family sees them, precisions times weight. Share is this client's
// of what a uniform prior of the clusters' weights says beyond the normal one of their sticks,
// which has mean 0 and the given sd; there may be 1 of all.
func NewClusters(clusters, variables int, x []float64, stickSD, share, weight float64) *Clusters {
	d := clusters - 1 + 2*clusters*variables
	t := &Clusters{
		weighted: weighted{d, weight}, clusters: clusters, variables: variables, x: x, share: share, family: gaussian.Diagonal(d),
		weights: make([]float64, clusters), chance: make([]float64, clusters), beyond: make([]float64, clusters),
	}
	for range clusters * variables {
		t.spreads = append(t.spreads, newSpreadRule(1))
	}
	for j := range clusters - 1 {
		t.sticks = append(t.sticks, newStick(clusters-1-j, stickSD))
	}
	return t
}

// Family implements [Tilted].
func (t *Clusters) Family() gaussian.Family { return t.family }

// Records implements [Tilted].
func (t *Clusters) Records() int { return len(t.x) / t.variables }

// Size implements [Tilted].
func (t *Clusters) Size() int { return 2 * t.dim }

// mean returns where the mean of a cluster is in θ; its log sd is K further on.
func (t *Clusters) mean(variable, cluster int) int {
	return t.clusters - 1 + 2*variable*t.clusters + cluster
}

// Set implements [Tilted].
func (t *Clusters) Set(cavity *solver.Approximation) {
	t.at = cavity
	for v := range t.variables {
		for k := range t.clusters {
			i := t.mean(v, k) + t.clusters
			rule := t.spreads[v*t.clusters+k]
			rule.set(cavity.Mean[i], cavity.Variance[i])
			rule.widen(cavity.Variance[i-t.clusters])
		}
	}
	var left float64
	for j := range t.sticks {
		s := &t.sticks[j]
		s.set(cavity.Mean[j], cavity.Variance[j])
		t.weights[j] = left + math.Log(s.taken.chance)
		left += math.Log(s.left.chance)
	}
	t.weights[t.clusters-1] = left
}

// Site implements [Tilted].
func (t *Clusters) Site(dst []float64, record int) {
	x := t.x[record*t.variables : (record+1)*t.variables]
	t.assign(x)
	for j := range t.sticks {
		s, r := &t.sticks[j], t.chance[j]
		first := r*s.taken.first + t.beyond[j]*s.left.first
		second := r*s.taken.second + t.beyond[j]*s.left.second
		t.match(dst, j, first, second+max(0, 1-r-t.beyond[j])*t.at.Variance[j])
	}
	for v, value := range x {
		for k, r := range t.chance {
			i := t.mean(v, k)
			rule := t.spreads[v*t.clusters+k]
			first, second := rule.centre(value - t.at.Mean[i])
			t.match(dst, i, r*first, r*second+(1-r)*t.at.Variance[i])
			first, second = rule.spread()
			i += t.clusters
			t.match(dst, i, r*first, r*second+(1-r)*t.at.Variance[i])
		}
	}
}

// match writes the site that gives a coordinate first and second moment around the cavity's
// mean.
func (t *Clusters) match(dst []float64, i int, first, second float64) {
	variance := second - first*first
	dst[i] = first / variance
	dst[t.dim+i] = (1/variance - 1/t.at.Variance[i]) * t.weight
}

// assign sets the probability of every cluster, and of those after each.
func (t *Clusters) assign(x []float64) {
	copy(t.chance, t.weights)
	for v, value := range x {
		for k := range t.chance {
			t.chance[k] += t.spreads[v*t.clusters+k].outcome(value - t.at.Mean[t.mean(v, k)])
		}
	}
	normalise(t.chance)
	var after float64
	for k := t.clusters - 1; k >= 0; k-- {
		t.beyond[k] = after
		after += t.chance[k]
	}
}

// AddPublic implements [Public]: the client's share of what the prior of the weights says
// beyond the normal one of the sticks.
func (t *Clusters) AddPublic(natural []float64) {
	for j := range t.sticks {
		first, second := t.sticks[j].prior(t.at.Mean[j], t.share)
		variance := second - first*first
		natural[j] += first / variance
		natural[t.dim+j] += 1/variance - 1/t.at.Variance[j]
	}
}
