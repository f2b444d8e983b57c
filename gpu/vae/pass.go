package vae

import (
	"fedpvi/dpmech"
	"fedpvi/internal/math32"
)

// recordsAtOnce is the maximum number of records that a pass sends through the network together.
// They fill whole tiles of the matrix product, and the matrices fit in a cache.
const recordsAtOnce = 4 * math32.TileRows

// A pass computes the network's outputs and gradients for a few records together. In each of its
// matrices, every record has a row, and padding rows complete the last tile. The inputs of a layer
// end in a 1, which multiplies the biases.
type pass struct {
	of *Network
	in [layers]matrix // inputs of each layer, followed by a constant 1 that multiplies the biases
	// out has the outputs of each layer. The backward pass replaces each of them by the derivative
	// of the loss with respect to it.
	out      [layers]matrix
	slope    [layers]matrix // derivatives of each layer's activation function, softplus or logistic
	back     [layers]matrix // derivatives of the loss with respect to the inputs of each layer
	deviates []float64      // standard normal numbers for the latent vectors, Latent numbers for each record
	spread   matrix         // standard deviations s of the latent vectors
	pairs    []dpmech.Pair
	nothing  []dpmech.Pair       // pairs of zeros, for a record that contributes nothing
	places   [recordsAtOnce]int  // the records' positions in the batch
	put      [recordsAtOnce]bool // whether the sums have taken each record's gradient
	words    []uint64
	bits     dpmech.Stream // a record's random numbers, if the steps belong to a plan
}

type matrix struct {
	stride int
	data   []float32
}

func newMatrix(columns int) matrix {
	stride := math32.Padded(columns, math32.TileColumns)
	return matrix{stride, make([]float32, recordsAtOnce*stride)}
}

func (m matrix) row(i, columns int) []float32 { return m.data[i*m.stride:][:columns] }

func newPass(n *Network) *pass {
	p := &pass{
		of: n, deviates: make([]float64, recordsAtOnce*n.Latent), spread: newMatrix(n.Latent),
		pairs: make([]dpmech.Pair, layers), words: make([]uint64, wordsOf(n)),
	}
	for l, layer := range n.Layers() {
		p.nothing = append(p.nothing, dpmech.Pair{Inputs: make([]float32, layer.Inputs), Outputs: make([]float32, layer.Outputs)})
		p.in[l], p.out[l], p.slope[l], p.back[l] = newMatrix(layer.Inputs), newMatrix(layer.Outputs), newMatrix(layer.Outputs), newMatrix(layer.Inputs-1)
		for i := range recordsAtOnce {
			p.in[l].row(i, layer.Inputs)[layer.Inputs-1] = 1
		}
	}
	return p
}

// wordsOf returns the number of random words that the pixels of an image need.
func wordsOf(n *Network) int { return (n.Pixels + 3) / 4 }

// load draws the pixels of an image into a row of inputs. A pixel with the byte v becomes 1 with
// probability v/255, up to an error of 2⁻¹⁶, and 0 otherwise.
func (p *pass) load(row int, image []byte, src *dpmech.Stream) {
	src.Fill(p.words)
	math32.Bernoulli(p.in[encoderHidden].row(row, len(image)), image, p.words)
}

// multiply computes the outputs of layer l for the first records rows of the pass.
func (p *pass) multiply(l, records int) {
	w := p.of.weights[l]
	math32.Multiply(p.out[l].data, p.out[l].stride, p.in[l].data, p.in[l].stride, records, w.Rows, w)
}

// bend applies softplus to the outputs of hidden layer l, and writes the results to the inputs of
// layer l+1. It writes the derivatives of softplus to p.slope[l].
func (p *pass) bend(l, records int) {
	for i := range records {
		math32.Softplus(p.in[l+1].row(i, p.of.Hidden), p.slope[l].row(i, p.of.Hidden), p.out[l].row(i, p.of.Hidden))
	}
}

// encode computes the means m and standard deviations s of the latent vectors for the first records
// rows.
func (p *pass) encode(records int) {
	p.multiply(encoderHidden, records)
	p.bend(encoderHidden, records)
	p.multiply(encoderOutput, records)
	for i := range records {
		math32.Exp(p.spread.row(i, p.of.Latent), p.out[encoderOutput].row(i, 2*p.of.Latent)[p.of.Latent:])
	}
}

// deviate computes the latent vectors m + s∘ε for the first records rows, where ε is p.deviates.
func (p *pass) deviate(records int) {
	for i := range records {
		z, m, s := p.in[decoderHidden].row(i, p.of.Latent), p.out[encoderOutput].row(i, p.of.Latent), p.spread.row(i, p.of.Latent)
		for k, e := range p.deviates[i*p.of.Latent:][:p.of.Latent] {
			z[k] = m[k] + s[k]*float32(e)
		}
	}
}

// decode computes the log odds of the pixels from the latent vectors.
func (p *pass) decode(records int) {
	p.multiply(decoderHidden, records)
	p.bend(decoderHidden, records)
	p.multiply(decoderOutput, records)
}

// reverse computes the backward pass: it replaces the outputs of each layer by the derivatives of
// the loss −ELBO with respect to these outputs. The loss is
//
//	−log p(x | z) + Σ (½(s² + m² − 1) − log s),
//
// where z is the drawn latent vector. The sum is the divergence from N(0, I) of q(z | x), whose
// means are m and whose sds are s.
func (p *pass) reverse(records int) {
	for i := range records {
		out, slope := p.out[decoderOutput].row(i, p.of.Pixels), p.slope[decoderOutput].row(i, p.of.Pixels)
		math32.Softplus(out, slope, out)
		x := p.in[encoderHidden].row(i, p.of.Pixels)
		for j := range out {
			out[j] = slope[j] - x[j]
		}
	}
	p.pull(decoderOutput, records)
	p.unbend(decoderHidden, records)
	p.pull(decoderHidden, records)
	for i := range records {
		p.reverseLatent(i)
	}
	p.pull(encoderOutput, records)
	p.unbend(encoderHidden, records)
}

// pull computes the loss's derivatives with respect to the inputs of layer l, from those with
// respect to its outputs.
func (p *pass) pull(l, records int) {
	w := p.of.reversed[l]
	math32.Multiply(p.back[l].data, p.back[l].stride, p.out[l].data, p.out[l].stride, records, w.Rows, w)
}

// unbend carries derivatives of the loss back through the softplus of hidden layer l. The values of
// softplus are the inputs of layer l+1. unbend multiplies the derivatives with respect to these
// values by the derivatives of softplus.
func (p *pass) unbend(l, records int) {
	for i := range records {
		out, slope, back := p.out[l].row(i, p.of.Hidden), p.slope[l].row(i, p.of.Hidden), p.back[l+1].row(i, p.of.Hidden)
		for j := range out {
			out[j] = back[j] * slope[j]
		}
	}
}

func (p *pass) reverseLatent(i int) {
	n := p.of.Latent
	out, back, s := p.out[encoderOutput].row(i, 2*n), p.back[decoderHidden].row(i, n), p.spread.row(i, n)
	for k, e := range p.deviates[i*n:][:n] {
		out[n+k] = back[k]*float32(e)*s[k] + s[k]*s[k] - 1
		out[k] += back[k]
	}
}

// pairsOf returns one pair of vectors per layer. The outer product of a pair is the gradient of
// record i with respect to the layer's weights. The vectors are valid until the next call.
func (p *pass) pairsOf(i int) []dpmech.Pair {
	for l, w := range p.of.weights {
		p.pairs[l] = dpmech.Pair{Inputs: p.in[l].row(i, w.Rows), Outputs: p.out[l].row(i, w.Columns)}
	}
	return p.pairs
}
