package math32

import "golang.org/x/sys/cpu"

var hasLanes = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func tileAVX2(dst *float32, stride int, a *float32, row, step int, b *float32, k int, add bool)

// tile computes a tile of a product. For k ≥ 1, element (r, j) is
//
//	Σ_{i<k} a[r·row + i·step]·b[i·TileColumns + j].
//
// It is written to dst[r·stride + j] or, if add is true, added to the number there.
func tile(dst []float32, stride int, a []float32, row, step int, b []float32, k int, add bool) {
	if !hasLanes {
		tilePlain(dst, stride, a, row, step, b, k, add)
		return
	}
	_, _, _ = dst[(TileRows-1)*stride+TileColumns-1], a[(TileRows-1)*row+(k-1)*step], b[k*TileColumns-1]
	tileAVX2(&dst[0], stride, &a[0], row, step, &b[0], k, add)
}

//go:noescape
func transposeAVX2(dst, w *float32)

// transpose copies the rows [from, to) of one panel of w to columns of dst, eight rows at a time,
// with vector instructions. It returns the first row that it has not copied. If it cannot copy any
// row, this is from.
func transpose(dst, w Panels, panel, from, to int) int {
	if !hasLanes || from%8 != 0 || (panel+1)*TileColumns > w.Columns {
		return from
	}
	for ; from+8 <= to; from += 8 {
		in, out := w.Data[(panel*w.Height()+from)*TileColumns:], dst.Data[dst.At(panel*TileColumns, from):]
		_, _ = in[8*TileColumns-1], out[(TileColumns-1)*TileColumns+7]
		transposeAVX2(&out[0], &in[0])
	}
	return from
}
