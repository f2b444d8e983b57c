package accountant

import "math"

// fixedSizeRenyi bounds the Rényi divergence, of an integer order α ≥ 2, of a
// Gaussian release on a sample of a fixed size, under replace-one, for noise σ in
// units of the L2 distance by which one record can move the sum (twice the clip
// norm). It is theorem 27 of Wang, Balle, Kasiviswanathan ("Subsampled Rényi
// Differential Privacy and Analytical Moments Accountant", 2019),
//
//	e^((α−1)R) ≤ 1 + γ²·C(α,2)·min{4(e^ε(2) − 1), 2e^ε(2)}
//	  + Σ_{j≥3} γ^j·C(α,j)·min{4·√(B(2⌊j/2⌋)·B(2⌈j/2⌉)), 2e^((j−1)ε(j))},
//
// ε(j) = j/2σ² and B(l) = E[(e^u − 1)^l] for u the privacy loss under N(0, σ²).
// It is kept for comparison: the law of the loss that WithoutReplacement has
// implies less.
func fixedSizeRenyi(rate, sigma float64, order int) float64 {
	cumulant := func(j int) float64 { return float64(j) * float64(j-1) / (2 * sigma * sigma) }
	moments := evenMoments(sigma, order+1)
	logs := []float64{0}
	for j := 2; j <= order; j++ {
		term := cumulant(j) + math.Ln2
		if j == 2 {
			term = min(term, 2*math.Ln2+cumulant(2)+math.Log(-math.Expm1(-cumulant(2))))
		} else {
			term = min(term, 2*math.Ln2+(moments[j/2]+moments[(j+1)/2])/2)
		}
		logs = append(logs, term+float64(j)*math.Log(rate)+logBinomial(order, j))
	}
	return logSum(logs) / float64(order-1)
}

// evenMoments returns log E[(e^u − 1)^(2k)] for 2k ≤ most, by quadrature, where the
// alternating sum would cancel.
func evenMoments(sigma float64, most int) []float64 {
	m := mixture{1, sigma}
	step := min(sigma/8, sigma*sigma/6)
	logs := make([][]float64, most/2+1)
	for x := -span * sigma; x <= float64(most)+span*sigma; x += step {
		u := m.exponent(x)
		size := math.Log(math.Abs(math.Expm1(u)))
		if u > 36 {
			size = u
		}
		for k := range logs {
			power := 0.0
			if k > 0 {
				power = 2 * float64(k) * size
			}
			logs[k] = append(logs[k], logNormal(x, sigma)+power+math.Log(step))
		}
	}
	sums := make([]float64, len(logs))
	for k := range logs {
		sums[k] = logSum(logs[k])
	}
	return sums
}

func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func logSum(logs []float64) float64 {
	most := math.Inf(-1)
	for _, x := range logs {
		most = max(most, x)
	}
	var sum float64
	for _, x := range logs {
		sum += math.Exp(x - most)
	}
	return most + math.Log(sum)
}
