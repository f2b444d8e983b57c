package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// clipQuantiles lists probabilities. The quantiles of the norms of made-up scores at these
// probabilities are candidates for the clipping bound.
var clipQuantiles = [...]float64{.8, .9, .95, .98, .99, .995, .998, .999, 1}

// unsureShare limits how uncertain θ may be when outcomes are made up for a nonlinear model. The
// uncertainty is the trace of the covariance of θ times the information of a record. Above this
// limit, the log likelihood is far from quadratic.
const unsureShare = 0.5

// chooseClip returns the clipping bound for which, with made-up records, the squared bias of
// clipping plus the variance of the noise is smallest. It also returns the sorted norms of the
// records' scores. cov is the covariance of θ.
func (p *Problem) chooseClip(m population, theta []float64, ridge float64, cov *mat.SymDense) (clip float64, norms []float64) {
	shrunk, unsure := p.unsure(m, theta, cov)
	s := p.sampleAt(m, theta, ridge, shrunk)
	// directions is the effective number of coordinates about which the records say more than the
	// prior does.
	directions := trace(congruent(solved(s.units), s.curved), nil)
	norms = slices.Sorted(slices.Values(s.norms))
	least := math.Inf(1)
	for _, q := range clipQuantiles {
		c := quantile(norms, q)
		bias, loose := norm(s.lost(c, p.Records)), s.loose(c, p.Records)
		// slope estimates an error that the expected effect of clipping does not include: a sum of
		// clipped scores depends less on θ than a sum of unclipped ones.
		slope := p.Records / 2 * beyond(norms, c) * math.Sqrt(min(unsure, directions))
		noise := directions * p.NoiseSD * p.NoiseSD * c * c
		if loss := bias*bias + loose*loose + slope*slope + noise; loss < least {
			least, clip = loss, c
		}
	}
	return clip, norms
}

// unsure returns the covariance of θ that is used to draw outcomes. It is cov, scaled down if the
// trace of the information of a record times cov is above unsureShare. unsure also returns that
// trace.
func (p *Problem) unsure(m population, theta []float64, cov *mat.SymDense) (shrunk *mat.SymDense, unsure float64) {
	unsure = trace(m.curvature(theta), cov)
	if p.linear || unsure <= unsureShare {
		return cov, unsure
	}
	return plus(term{unsureShare / unsure, cov}), unsure
}

// trace returns the trace of the product of a and b, or of a if b is nil.
func trace(a, b *mat.SymDense) (sum float64) {
	if b == nil {
		return mat.Trace(a)
	}
	for i := range a.SymmetricDim() {
		for j := range a.SymmetricDim() {
			sum += a.At(i, j) * b.At(i, j)
		}
	}
	return sum
}

// lengthEdges are the edges of the intervals in which norms of scores are counted, relative to the
// clipping bound.
var lengthEdges = [...]float64{.5, 1, 2, 4, 8}

// lengths is the number of these intervals, including one below the first edge and one above the
// last.
const lengths = len(lengthEdges) + 1

// lengthOf returns the interval that x lies in, where x is a norm divided by the clipping bound.
func lengthOf(x float64) int {
	n := 0
	for n < len(lengthEdges) && x >= lengthEdges[n] {
		n++
	}
	return n
}

// A stretch is a likelihood, given released counts, of how many times longer real scores are than
// made-up ones. logs is on a grid of the logarithm of this factor.
type stretch struct{ logs [stretchPoints]float64 }

const (
	stretchPoints = 81
	stretchSD     = 0.5
	stretchMost   = 2.0
	leastStretch  = 0.8
	// stretchMemory reduces the weight of earlier counts in each round, because earlier rounds had
	// different clipping bounds.
	stretchMemory = 0.5
	// stretchSlack is the standard deviation of the error that counts have because made-up records
	// differ from real ones, relative to the number of records.
	stretchSlack = 0.01
)

func stretchAt(i int) float64 { return stretchMost * (2*float64(i)/(stretchPoints-1) - 1) }

// learned returns s updated with counts, the released numbers of records in the intervals of norms.
// norms holds the sorted norms of made-up records. sd is the standard deviation of the noise in a
// count. slack is that of the error that arises because real and made-up records differ.
func (s stretch) learned(norms, counts []float64, clip, sd, slack, records float64) stretch {
	for i := range s.logs {
		f := math.Exp(stretchAt(i))
		var squares float64
		for n := 2; n < lengths; n++ { // from interval number 2 on, norms exceed the clipping bound
			expected := beyond(norms, lengthEdges[n-1]*clip/f)
			if n+1 < lengths {
				expected -= beyond(norms, lengthEdges[n]*clip/f)
			}
			gap := counts[n] - expected*records
			squares += gap * gap
		}
		s.logs[i] = stretchMemory*s.logs[i] - squares/(2*(sd*sd+slack*slack))
	}
	return s
}

// factor returns the factor that converts clipping bounds for made-up records to bounds for real
// ones. It is the exponential of the posterior mean of the logarithm, and at least leastStretch.
// The prior of the logarithm has mean 0 and standard deviation stretchSD.
func (s stretch) factor() float64 {
	var weights [stretchPoints]float64
	largest := math.Inf(-1)
	for i, l := range s.logs {
		x := stretchAt(i) / stretchSD
		weights[i] = l - x*x/2
		largest = max(largest, weights[i])
	}
	var total, mean float64
	for i, l := range weights {
		w := math.Exp(l - largest)
		total += w
		mean += w * stretchAt(i)
	}
	return max(leastStretch, math.Exp(mean/total))
}
