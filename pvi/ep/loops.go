package ep

// These loops process several records at a time. Products are converted to float64, which forbids
// fused multiply-adds, so that every processor computes the same bits.

// project writes the mean and variance of xᵀθ for each record, where θ has independent coordinates
// and x is the record's row. Four partial sums let the processor add in parallel.
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

// match writes the site of a record with covariates x in a diagonal family to dst. g is the first
// derivative, and h minus the second, of the log normalising constant in the mean of the predictor
// xᵀθ. variances holds the cavity's variances. Precisions are multiplied by weight.
func match(dst, x, variances []float64, g, h, weight float64) {
	d := len(x)
	shifts, precisions, variances := dst[:d], dst[d:][:d], variances[:d]
	for j, e := range x {
		bend := float64(float64(h*e) * e)
		// stretch is the precision of θ_j in the tilted distribution divided by that in the cavity.
		stretch := 1 / (1 - float64(variances[j]*bend))
		shifts[j] = float64(g*e) * stretch
		precisions[j] = float64(bend*stretch) * weight
	}
}
