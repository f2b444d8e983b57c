//go:build !amd64

package dpmech

func (g *slicedGaussian) fill(dst []int64, words []uint64, missing []uint8) {
	g.fillPlain(dst, words, missing)
}

func hide(sums []float32, noise []int64, perStep, step float64) {
	hidePlain(sums, noise, perStep, step)
}
