package math32

import "fmt"

// Outer computes the sum, over records, of the outer product of two vectors. The gradient of a
// dense layer is such a sum, of inputs of the layer times derivatives of the loss with respect to
// its outputs. Several goroutines can store records at different positions, counted from 0.
// Afterwards, a matrix product computes the sum in pieces.
type Outer struct {
	Inputs, Outputs int
	most            int
	// These are the inputs in tiles (a) and the outputs in panels (b). They have room for the
	// maximum number of records.
	a, b []float32
}

// NewOuter returns an empty sum for vectors of the given lengths and at most most records.
func NewOuter(inputs, outputs, most int) *Outer {
	return &Outer{
		Inputs: inputs, Outputs: outputs, most: most,
		a: make([]float32, Padded(inputs, TileRows)*most),
		b: make([]float32, Padded(outputs, TileColumns)*most),
	}
}

// Put stores the two vectors of a record at position place. It multiplies the outputs by factor.
func (o *Outer) Put(place int, inputs, outputs []float32, factor float32) {
	if len(inputs) != o.Inputs || len(outputs) != o.Outputs {
		panic(fmt.Sprintf("math32: the vectors have %d and %d elements instead of %d and %d", len(inputs), len(outputs), o.Inputs, o.Outputs))
	}
	stride := o.most * TileRows
	at := place * TileRows
	for ; len(inputs) >= TileRows; inputs = inputs[TileRows:] {
		*(*[TileRows]float32)(o.a[at:]) = [TileRows]float32(inputs)
		at += stride
	}
	if len(inputs) > 0 {
		copy(o.a[at:at+TileRows], inputs) // elements after the inputs stay zero
	}
	stride = o.most * TileColumns
	at = place * TileColumns
	for ; len(outputs) > 0; outputs = outputs[min(TileColumns, len(outputs)):] {
		panel := o.b[at : at+TileColumns]
		for j, x := range outputs[:min(TileColumns, len(outputs))] {
			panel[j] = x * factor
		}
		at += stride
	}
}

// Clear sets both vectors at position place to zero.
func (o *Outer) Clear(place int) {
	for at := place * TileRows; at < len(o.a); at += o.most * TileRows {
		clear(o.a[at : at+TileRows])
	}
	for at := place * TileColumns; at < len(o.b); at += o.most * TileColumns {
		clear(o.b[at : at+TileColumns])
	}
}

// Sum adds up the outer products at positions 0 to records − 1. It computes the part of the sum for
// the inputs in the tiles [from, to). It writes this part to dst as panels, one after the other. A
// panel has TileRows·(to−from) rows of TileColumns numbers.
func (o *Outer) Sum(dst []float32, from, to, records int) {
	height := (to - from) * TileRows
	panels := Tiles(o.Outputs, TileColumns)
	if records == 0 {
		clear(dst[:height*panels*TileColumns])
		return
	}
	for p := range panels {
		b := o.b[p*o.most*TileColumns:]
		for t := from; t < to; t++ {
			out := dst[(p*height+(t-from)*TileRows)*TileColumns:]
			tile(out, TileColumns, o.a[t*o.most*TileRows:], 1, TileRows, b, records, false)
		}
	}
}
