package dpmech

//go:noescape
func slicedAVX2(table *[slicedColumns]uint32, origin int32, dst *int64, words *uint64, missing *uint8, eights int)

//go:noescape
func hideAVX2(sums *float32, noise *int64, n int, perStep, step float64)

// fill is like fillPlain, for a multiple of eight samples. It uses vector instructions if the CPU
// has them.
func (g *slicedGaussian) fill(dst []int64, words []uint64, missing []uint8) {
	if !hasLanes || len(missing) == 0 {
		g.fillPlain(dst, words, missing)
		return
	}
	_, _ = dst[8*len(missing)-1], words[4*len(missing)-1]
	slicedAVX2(&g.table, g.origin, &dst[0], &words[0], &missing[0], len(missing))
}

// hide is like hidePlain, but uses vector instructions if the CPU has them.
func hide(sums []float32, noise []int64, perStep, step float64) {
	fours := 0
	if hasLanes && len(sums) >= 4 {
		fours = len(sums) &^ 3
		_ = noise[fours-1]
		hideAVX2(&sums[0], &noise[0], fours, perStep, step)
	}
	hidePlain(sums[fours:], noise[fours:], perStep, step)
}
