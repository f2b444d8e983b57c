//go:build !amd64

package ep

func project(mean, variance []float64, records []uint32, x, means, variances []float64) {
	projectOneByOne(mean, variance, records, x, means, variances)
}

func match(dst, x, variances []float64, g, h, weight float64) {
	matchOneByOne(dst, x, variances, g, h, weight)
}
