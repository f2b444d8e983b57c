package dpmech

import "math"

// FillNormal sets every element of dst to an independent standard normal number, from the bits of
// src. Use it only for numbers that protect no data, such as the normal numbers of the
// reparameterisation trick. Noise from FillNormal would not protect data, because the bits of a
// float64 reveal how it was computed. Noise that protects data comes from a [DiscreteGaussian] on a
// lattice.
//
// FillNormal uses the ziggurat of Marsaglia and Tsang ("The Ziggurat Method for Generating Random
// Variables", 2000) with 256 layers, on 64-bit words. Eight bits select the layer, and the other 56
// bits select the point in the layer. In contrast to the original method, no bit is used for both
// (Doornik, "An Improved Ziggurat Method to Generate Normal Random Samples", 2005). The numbers
// have the normal distribution up to the rounding of float64 arithmetic. A number below 3.65 is a
// multiple of its layer's width times 2^-55. A larger number is computed from uniform numbers that
// can be arbitrarily close to zero, so that the tail is not cut off.
func FillNormal(dst []float64, src *Stream) {
	var buffer [256]uint64
	for len(dst) > 0 {
		// In each iteration, the loop draws one word for each number that is still missing. If a
		// word is rejected, the next iteration replaces it.
		words := buffer[:min(len(dst), len(buffer))]
		src.Fill(words)
		dst = dst[fillSome(dst, words, src):]
	}
}

// fillSome makes normal numbers from the random bits in words. It writes them to dst and returns
// how many there are. For most words, the table is enough. A few need more bits from src, and some
// are rejected.
func fillSome(dst []float64, words []uint64, src *Stream) (made int) {
	layers := &ziggurat.layers
	for _, w := range words {
		layer := &layers[w%normalLayers]
		place := int64(w) >> 8 // horizontal position in the layer, an integer in [−2^55, 2^55)
		x := float64(place) * layer.unit
		if max(place, -place) >= layer.inside {
			var kept bool
			if x, kept = outside(x, int(w%normalLayers), src); !kept {
				continue
			}
		}
		dst[made] = x
		made++
	}
	return made
}

const (
	normalLayers = 256

	// normalTail is the x where the rectangle of the lowest layer ends and the tail begins. A test
	// checks that with this value, 256 layers of equal area end exactly at the mode.
	normalTail = 3.6541528853610088
)

// ziggurat is the table of layers from which FillNormal draws. Let f(x) = e^(−x²/2). For i ≥ 1,
// layer i lies between the heights f(edge[i]) and f(edge[i+1]). Layer 0 is the rectangle below the
// height f(normalTail), together with the tail beyond it.
var ziggurat = newZiggurat()

type zigguratTable struct {
	edge   [normalLayers + 1]float64
	height [normalLayers + 1]float64 // density at each edge
	layers [normalLayers]normalLayer
}

type normalLayer struct {
	unit   float64 // distance between neighbouring points of the layer: 2^-55 times the layer's width
	inside int64   // if |x|/unit is below this number, the point at x is certainly under the curve
}

func newZiggurat() *zigguratTable {
	density := func(x float64) float64 { return math.Exp(-x * x / 2) }
	area := normalTail*density(normalTail) + math.Sqrt(math.Pi/2)*math.Erfc(normalTail/math.Sqrt2)
	t := new(zigguratTable)
	t.edge[0] = area / density(normalTail) // the rectangle of this width has the same area as layer 0 with its tail
	t.edge[1] = normalTail
	t.height[0] = 0 // layer 0 begins at the height 0
	t.height[1] = density(normalTail)
	for i := 2; i < normalLayers; i++ {
		t.height[i] = t.height[i-1] + area/t.edge[i-1]
		t.edge[i] = math.Sqrt(-2 * math.Log(t.height[i]))
	}
	t.height[normalLayers] = 1
	for i := range normalLayers {
		t.layers[i] = normalLayer{
			unit:   math.Ldexp(t.edge[i], -55),
			inside: int64(math.Ldexp(t.edge[i+1]/t.edge[i], 55)),
		}
	}
	return t
}

// outside decides whether to keep an x whose point may be above the curve. In layer 0, it replaces
// x by a number from the tail with the same sign. In the other layers, it draws the height of the
// point and returns x. If the point is above the curve, ok is false.
func outside(x float64, layer int, src *Stream) (kept float64, ok bool) {
	if layer == 0 {
		return math.Copysign(tail(src), x), true
	}
	low, high := ziggurat.height[layer], ziggurat.height[layer+1]
	return x, low+uniform(src)*(high-low) < math.Exp(-x*x/2)
}

// tail returns a normal number, conditional on being above normalTail (Marsaglia, "Generating a
// Variable from the Tail of the Normal Distribution", 1964).
func tail(src *Stream) float64 {
	for {
		x := -math.Log(uniform(src)) / normalTail
		if -2*math.Log(uniform(src)) >= x*x {
			return normalTail + x
		}
	}
}

// uniform returns a uniform number in (0, 1], rounded to nearest. Half of all numbers have the
// binary exponent −1, a quarter have −2, and so on without a limit.
func uniform(src *Stream) float64 {
	scale := 0
	w := src.Uint64()
	for w == 0 { // a word is zero once in 2^64 draws, and is then drawn again
		scale -= 64
		w = src.Uint64()
	}
	// first comes from the first nonzero word. Another 64 bits are added after its last bit.
	first := math.Ldexp(float64(w), scale-64)
	return first + math.Ldexp(float64(src.Uint64()), scale-128)
}
