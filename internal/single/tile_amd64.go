package single

import "golang.org/x/sys/cpu"

var hasLanes = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func tileAVX2(dst *float32, stride int, a *float32, row, step int, b *float32, k int, add bool)

// tile writes, or adds, a tile of a product to dst: element (r, j), at dst[r·stride + j], is
// Σ a[r·row + i·step]·b[i·TileColumns + j] over i < k, k at least 1.
func tile(dst []float32, stride int, a []float32, row, step int, b []float32, k int, add bool) {
	if !hasLanes {
		tilePlain(dst, stride, a, row, step, b, k, add)
		return
	}
	_, _, _ = dst[(TileRows-1)*stride+TileColumns-1], a[(TileRows-1)*row+(k-1)*step], b[k*TileColumns-1]
	tileAVX2(&dst[0], stride, &a[0], row, step, &b[0], k, add)
}
