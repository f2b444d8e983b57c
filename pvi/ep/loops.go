package ep

// The functions of this file loop over several records at a time. They convert products to float64,
// which forbids fused multiply-adds, so every processor computes the same bits.

// project writes the mean and variance of xᵀθ for each record, where θ has independent coordinates
// with the given means and variances. The covariates of record r are row r of x. Each sum is
// computed as four partial sums, because the processor can do independent additions in parallel.
func project(mean, variance []float64, records []uint32, x, means, variances []float64) {
	d := len(means)
	for l, record := range records {
		var m, v [4]float64
		for j, e := range x[int(record)*d:][:d] {
			m[j&3] += float64(e * means[j])
			v[j&3] += float64(float64(e*e) * variances[j])
		}
		mean[l] = (m[0] + m[1]) + (m[2] + m[3])
		variance[l] = (v[0] + v[1]) + (v[2] + v[3])
	}
}

// match computes the site, in a diagonal family, of a record with covariates x, and writes it to
// dst. Let log Z be the log of the tilted distribution's normalising constant, as a function of the
// mean of the predictor xᵀθ. Then g is the first derivative of log Z and h is minus the second
// derivative. variances holds the cavity's variances. The precisions in dst are multiplied by
// weight.
func match(dst, x, variances []float64, g, h, weight float64) {
	d := len(x)
	shifts, precisions, variances := dst[:d], dst[d:][:d], variances[:d]
	for j, e := range x {
		bend := float64(float64(h*e) * e)
		// The variable stretch is the precision of θ_j under the tilted distribution divided by its
		// precision under the cavity.
		stretch := 1 / (1 - float64(variances[j]*bend))
		shifts[j] = float64(g*e) * stretch
		precisions[j] = float64(bend*stretch) * weight
	}
}
