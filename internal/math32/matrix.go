package math32

// Panels is a matrix of Rows × Columns numbers. It is stored in panels of TileColumns columns, one
// panel after the other, and row by row within a panel. It is padded with zeros to whole tiles.
type Panels struct {
	Rows, Columns int
	Data          []float32
}

// NewPanels returns a matrix of zeros.
func NewPanels(rows, columns int) Panels {
	return Panels{rows, columns, make([]float32, Padded(rows, TileRows)*Padded(columns, TileColumns))}
}

// Height returns the number of rows in a panel, including the padding.
func (p Panels) Height() int { return Padded(p.Rows, TileRows) }

// At returns the index of element (row, column) in Data.
func (p Panels) At(row, column int) int {
	return (column/TileColumns*p.Height()+row)*TileColumns + column%TileColumns
}

// termsAtOnce is the number of terms that Multiply adds to every tile of the product before it adds
// any further terms. So many rows of a panel fit into the first-level cache.
const termsAtOnce = 400

// Multiply writes x·w to dst. x has the given number of rows, and each row has terms elements, at
// most as many as w has rows. Rows begin xStride apart in x and dstStride apart in dst. In both,
// padding rows must complete the last tile.
func Multiply(dst []float32, dstStride int, x []float32, xStride, rows, terms int, w Panels) {
	rows = Padded(rows, TileRows)
	for from := 0; from < terms; from += termsAtOnce {
		k := min(termsAtOnce, terms-from)
		for p := range Tiles(w.Columns, TileColumns) {
			panel := w.Data[(p*w.Height()+from)*TileColumns:]
			for r := 0; r < rows; r += TileRows {
				tile(dst[r*dstStride+p*TileColumns:], dstStride, x[r*xStride+from:], xStride, 1, panel, k, from > 0)
			}
		}
	}
}

// Transpose copies the rows [from, to) of w to the columns [from, to) of dst.
func Transpose(dst, w Panels, from, to int) {
	aligned := min(to, Padded(from, 8)) // index of the first row whose number is a multiple of eight
	for p := range Tiles(w.Columns, TileColumns) {
		transposePlain(dst, w, p, from, aligned)
		transposePlain(dst, w, p, transpose(dst, w, p, aligned, to), to)
	}
}

// transposePlain transposes one panel of w without vector instructions.
func transposePlain(dst, w Panels, panel, from, to int) {
	for row := from; row < to; row++ {
		at := (panel*w.Height() + row) * TileColumns
		out := dst.At(panel*TileColumns, row)
		for j, x := range w.Data[at : at+min(TileColumns, w.Columns-panel*TileColumns)] {
			dst.Data[out+j*TileColumns] = x
		}
	}
}
