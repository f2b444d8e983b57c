package dpmech

// BinomialTable makes a binomial sampler's table, for tests.
func BinomialTable(n int, q float64) func(src *Stream) int {
	return newBinomial(n, q).sample
}
