package ep

import "golang.org/x/sys/cpu"

// This file runs the loops in lanes of four where the processor has AVX2.

var hasLanes = cpu.X86.HasAVX2

//go:noescape
func projectAVX2(mean, variance []float64, records []uint32, x *float64, means, variances []float64, mask *[8]int64)

//go:noescape
func matchAVX2(dst *float64, x, variances []float64, slope, bend, weight float64, mask *[8]int64)

func project(mean, variance []float64, records []uint32, x, means, variances []float64) {
	if !hasLanes || len(records) == 0 || len(means) == 0 {
		projectOneByOne(mean, variance, records, x, means, variances)
		return
	}
	d := len(means)
	for _, record := range records {
		_ = x[int(record)*d:][:d]
	}
	projectAVX2(mean[:len(records)], variance[:len(records)], records, &x[0], means, variances[:d], &laneMask)
}

func match(dst, x, variances []float64, g, h, weight float64) {
	if !hasLanes || len(x) == 0 {
		matchOneByOne(dst, x, variances, g, h, weight)
		return
	}
	_ = dst[:2*len(x)]
	matchAVX2(&dst[0], x, variances[:len(x)], g, h, weight, &laneMask)
}

// laneMask selects n of four lanes by the four elements from 4−n on: −1 for a lane that is
// used.
var laneMask = [8]int64{-1, -1, -1, -1}
