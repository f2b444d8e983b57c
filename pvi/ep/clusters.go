package ep

import (
	"math"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// Clusters is a mixture of K normal clusters with independent variables, whose weights, means and
// sds are learned. θ has K − 1 stick-breaking coordinates u_j, called sticks, and then for each
// variable K means and K log sds. Cluster 0 has the weight σ(u_0 − log(K−1)), where σ is the
// logistic function. Cluster j has the share σ(u_j − log(K−1−j)) of the weight that is left after
// clusters 0 to j−1. So all weights are equal at u = 0.
//
// Under a diagonal cavity a record x belongs to cluster k with probability
//
//	r_k ∝ E[w_k]·Π_v E[N(x_v | μ_kv, s_kv²)],
//
// where w_k is the weight of cluster k. Given k, the coordinates of θ are independent. The
// likelihood of stick j is then the stick's share if k = j, one minus this share if k > j, and
// constant if k < j. That of a mean and a log sd is the density of one variable. So each moment of
// the tilted distribution is a mixture, over k, of integrals over one log sd or one stick, which a
// Gauss–Hermite rule approximates.
type Clusters struct {
	weighted
	clusters, variables int
	x                   []float64 // values of the variables, record after record
	// share is the power of the ratio of the uniform to the normal prior of the weights, by which
	// this client's likelihood is multiplied (see [NewClusters]).
	share float64

	spreads []*spreadRule // quadrature rules for the log sds, by variable and cluster
	sticks  []stick
	weights []float64 // expected log weight of each cluster
	chance  []float64 // probability of each cluster, given the record
	beyond  []float64 // beyond[j] is the probability of any cluster after j
}

// NewClusters returns Clusters in a diagonal family. Each row of x is a record with the given
// number of variables. In sites, precisions are multiplied by weight.
//
// The weights of the clusters have a uniform prior, which q cannot express. In the prior of q, the
// sticks are normal with mean 0 and sd stickSD instead. Each client therefore multiplies its
// likelihood by the ratio of the two priors to the power share. The shares of all clients should
// add up to 1.
func NewClusters(clusters, variables int, x []float64, stickSD, share, weight float64) *Clusters {
	d := clusters - 1 + 2*clusters*variables
	t := &Clusters{
		weighted: newWeighted(gaussian.Diagonal(d), weight), clusters: clusters, variables: variables, x: x, share: share,
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

// Records implements [Tilted].
func (t *Clusters) Records() int { return len(t.x) / t.variables }

// mean returns the index in θ of a variable's mean in a cluster. The log sd has the index mean +
// t.clusters.
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

// match writes the site of coordinate i to dst. The tilted distribution has the moments first =
// E[θ_i − m] and second = E[(θ_i − m)²], where m is the cavity's mean.
func (t *Clusters) match(dst []float64, i int, first, second float64) {
	variance := second - first*first
	dst[i] = first / variance
	dst[t.dim+i] = (1/variance - 1/t.at.Variance[i]) * t.weight
}

// assign sets chance and beyond for the record x.
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

// AddPublic implements [Public]. It adds this client's site for the ratio of the uniform to the
// normal prior of the weights, raised to the power share.
func (t *Clusters) AddPublic(natural []float64) {
	for j := range t.sticks {
		first, second := t.sticks[j].prior(t.at.Mean[j], t.share)
		variance := second - first*first
		natural[j] += first / variance
		natural[t.dim+j] += 1/variance - 1/t.at.Variance[j]
	}
}
