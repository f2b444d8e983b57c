package vae

import (
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/internal/math32"
)

// A Shape has the sizes of an autoencoder.
type Shape struct {
	Pixels int // number of pixels in an image
	Hidden int // number of units in each of the two hidden layers, the encoder's and the decoder's
	Latent int // number of elements of the latent vector
}

// These are the indices of the weight layers.
const (
	encoderHidden = iota
	encoderOutput
	decoderHidden
	decoderOutput
	layers
)

// LayerNames has the names of the layers in the order in which data pass through them.
var LayerNames = [layers]string{"encoder-hidden", "encoder-output", "decoder-hidden", "decoder-output"}

// MaxSide is the maximum number of pixels, of hidden units and of latent dimensions.
const MaxSide = 1 << 14

// Check returns an error if the shape is not valid.
func (s Shape) Check() error {
	for _, side := range []struct {
		name string
		n    int
	}{{"pixels", s.Pixels}, {"hidden units", s.Hidden}, {"latent dimensions", s.Latent}} {
		if side.n < 1 || side.n > MaxSide {
			return fmt.Errorf("autoencoder: the number of %s must lie in [1, %d], got %d", side.name, MaxSide, side.n)
		}
	}
	return nil
}

// Layers returns the number of inputs and outputs of each layer. The inputs include the appended 1.
func (s Shape) Layers() []dpmech.ProductLayer {
	return []dpmech.ProductLayer{
		encoderHidden: {Inputs: s.Pixels + 1, Outputs: s.Hidden},
		encoderOutput: {Inputs: s.Hidden + 1, Outputs: 2 * s.Latent},
		decoderHidden: {Inputs: s.Latent + 1, Outputs: s.Hidden},
		decoderOutput: {Inputs: s.Hidden + 1, Outputs: s.Pixels},
	}
}

// Parameters returns the number of weights.
func (s Shape) Parameters() int {
	n := 0
	for _, l := range s.Layers() {
		n += l.Inputs * l.Outputs
	}
	return n
}

// A Network is an autoencoder with its weights.
type Network struct {
	Shape
	weights  [layers]math32.Panels
	reversed [layers]math32.Panels // transposed weights without biases, for the backward pass; layer 0 has none
}

// initialSD is the standard deviation of random initial weights and biases, as in d3p's example.
const initialSD = 0.01

// NewNetwork returns a network with random weights.
func NewNetwork(shape Shape, src *dpmech.Stream) (*Network, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	n := &Network{Shape: shape}
	for l, layer := range shape.Layers() {
		n.weights[l] = math32.NewPanels(layer.Inputs, layer.Outputs)
		if l != encoderHidden {
			n.reversed[l] = math32.NewPanels(layer.Outputs, layer.Inputs-1)
		}
		values := make([]float64, layer.Inputs*layer.Outputs)
		dpmech.FillNormal(values, src)
		for i, x := range values {
			n.weights[l].Data[n.weights[l].At(i/layer.Outputs, i%layer.Outputs)] = float32(initialSD * x)
		}
		n.turn(l, 0, layer.Inputs)
	}
	return n, nil
}

// turn copies the rows [from, to) of a layer's weights to the transposed weights that the backward
// pass uses. The first layer has no transposed weights.
func (n *Network) turn(layer, from, to int) {
	if layer != encoderHidden {
		math32.Transpose(n.reversed[layer], n.weights[layer], from, min(to, n.weights[layer].Rows-1))
	}
}

// Layer returns a copy of a layer's weights, row by row. Each input has a row, and the last row has
// the biases.
func (n *Network) Layer(layer int) []float32 {
	w := n.weights[layer]
	values := make([]float32, 0, w.Rows*w.Columns)
	for i := range w.Rows {
		for j := range w.Columns {
			values = append(values, w.Data[w.At(i, j)])
		}
	}
	return values
}
