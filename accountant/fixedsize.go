package accountant

import "math"

// fixedSize bounds the Rényi divergence of a Gaussian release on a sample of fixed size, under
// replace-one, at an integer order α ≥ 2. The unit of the noise σ is the L2 distance by which one
// record can change the sum, which is twice the clip norm. Let γ be the sampling rate. The bound on
// the divergence R is theorem 27 of Wang, Balle, Kasiviswanathan ("Subsampled Rényi Differential
// Privacy and Analytical Moments Accountant", 2019),
//
//	e^((α−1)R) ≤ 1 + γ²·C(α,2)·min{4(e^ε(2) − 1), 2e^ε(2)}
//	  + Σ_{j≥3} γ^j·C(α,j)·min{4·√(B(2⌊j/2⌋)·B(2⌈j/2⌉)), 2e^((j−1)ε(j))},
//
// where ε(j) = j/2σ², B(l) = E[(e^u − 1)^l], C is the binomial coefficient, and u is the privacy
// loss under N(0, σ²). It is used only for comparison, because the law of WithoutReplacement gives
// smaller bounds.
type fixedSize struct {
	rate, sigma float64
	moments     []float64 // log B(0), log B(2), log B(4), ... with B as defined above
}

func newFixedSize(rate, sigma float64, most int) fixedSize {
	return fixedSize{rate, sigma, evenMoments(sigma, most+1)}
}

func (f fixedSize) renyi(order int) float64 {
	cumulant := func(j int) float64 { return float64(j) * float64(j-1) / (2 * f.sigma * f.sigma) }
	var total logAdder
	for j := 2; j <= order; j++ {
		term := cumulant(j) + math.Ln2
		if j == 2 {
			term = min(term, 2*math.Ln2+cumulant(2)+math.Log(-math.Expm1(-cumulant(2))))
		} else {
			term = min(term, 2*math.Ln2+(f.moments[j/2]+f.moments[(j+1)/2])/2)
		}
		total.add(term + float64(j)*math.Log(f.rate) + logBinomial(order, j))
	}
	// The bound is log(1 + e^x)/(α−1). For x > 30, log(1 + e^x) is x + e^(−x) up to rounding. This
	// form does not overflow.
	if x := total.value(); x > 30 {
		return (x + math.Exp(-x)) / float64(order-1)
	}
	return math.Log1p(math.Exp(total.value())) / float64(order-1)
}

// fixedSizeEpsilon returns the ε(δ) that follows from the bounds at integer orders.
func (p Profile) fixedSizeEpsilon(delta float64) (float64, error) {
	const orders = 256
	var bounds []fixedSize
	for _, s := range p.samples {
		e, ok := s.event.(WithoutReplacement)
		if !ok || e.Adjacency == AddRemove {
			return 0, errNothing
		}
		bounds = append(bounds, newFixedSize(e.Rate, e.Sigma/2, orders))
	}
	if len(bounds) == 0 {
		return 0, errNothing
	}
	least := math.Inf(1)
	for order := 2; order <= orders; order++ {
		renyi := float64(order) * p.muSquared / 2
		for i, s := range p.samples {
			renyi += s.times * bounds[i].renyi(order)
		}
		least = min(least, RenyiEpsilon(float64(order), raise(renyi), delta))
	}
	return least, nil
}

// evenMoments returns log E[(e^u − 1)^(2k)] for 2k ≤ most, where u is the privacy loss. It uses
// quadrature, because the closed form is an alternating sum, which loses digits.
func evenMoments(sigma float64, most int) []float64 {
	m := mixture{1, sigma}
	step := min(sigma/8, sigma*sigma/6)
	weight := math.Log(step)
	sums := make([]logAdder, most/2+1)
	for x := -span * sigma; x <= float64(most)+span*sigma; x += step {
		u := m.exponent(x)
		size := u
		if u < 36 {
			size = math.Log(math.Abs(math.Expm1(u)))
		}
		density := logNormal(x, sigma) + weight
		sums[0].add(density)
		for k := 1; k < len(sums); k++ {
			sums[k].add(density + 2*float64(k)*size)
		}
	}
	logs := make([]float64, len(sums))
	for k, s := range sums {
		logs[k] = s.value()
	}
	return logs
}

// logAdder adds up numbers that are given by their logarithms.
type logAdder struct{ most, sum float64 }

func (a *logAdder) add(x float64) {
	switch {
	case a.sum == 0:
		a.most, a.sum = x, 1
	case x <= a.most:
		if x > a.most-40 {
			a.sum += math.Exp(x - a.most)
		}
	default:
		a.most, a.sum = x, a.sum*math.Exp(a.most-x)+1
	}
}

func (a *logAdder) value() float64 { return a.most + math.Log(a.sum) }

func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
