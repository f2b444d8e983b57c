package population

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// If gradients may be skewed, the late clipping bound is low for signals between leastSignal and
// fairSignal. If they cannot be, it is low for all signals below fairSignal.
func TestClipOfSkewedModels(t *testing.T) {
	const d = 4
	weights := Weights(10)
	for _, c := range []struct {
		signal float64
		skewed bool
		low    bool
	}{{3, true, false}, {8, true, true}, {14, true, true}, {20, true, false}, {200, true, false}, {3, false, true}, {8, false, true}} {
		const clients = 100
		// S = Mμ/√d; the noise in the sum of M vectors has standard deviation √M·Noise.
		mu := c.signal * math.Sqrt(d) / clients
		var squares float64
		for _, w := range weights[1:] {
			squares += w * w
		}
		r := &rules{dim: d, Setting: &Setting{Clients: clients, Weights: weights, Skewed: c.skewed, Noise: math.Sqrt(squares/clients) / mu}}
		r.chooseClips()
		if math.Abs(r.signal/c.signal-1) > 1e-9 {
			t.Fatalf("the signal is %g, want %g", r.signal, c.signal)
		}
		if low := !r.two && r.late < 1.4; low != c.low || c.skewed && !low && r.late < 2 {
			t.Errorf("signal %g, skewed %t: the late clip is %g root mean square norms", c.signal, c.skewed, r.late)
		}
	}
}

// The test clips shifted gamma gradients with a skewness of up to 1.5. A low bound must not move
// their mean by more than the standard deviation that q accounts for ([rules.clipped]), and at
// skewness 1.5 by at least a quarter of it.
func TestCountedBiasCoversSkewness(t *testing.T) {
	r := &rules{dim: 1, noisy: true, Setting: &Setting{Skewed: true}}
	for _, c := range []float64{.52, .6, .66} {
		for _, skewness := range []float64{.25, .5, 1, 1.5} {
			shape := 4 / (skewness * skewness)
			g := distuv.Gamma{Alpha: shape, Beta: math.Sqrt(shape)} // unit variance
			var mean float64
			const step = 1e-3
			for x := step / 2; x < 40; x += step {
				mean += step * g.Prob(x) * within(x-g.Mean(), -c, c)
			}
			slope := g.CDF(g.Mean()+c) - g.CDF(g.Mean()-c)
			moved, counted := math.Abs(mean)/slope, math.Sqrt(r.clipped(c, slope))
			if moved > counted || skewness == 1.5 && counted > 4*moved {
				t.Errorf("clip %g, skewness %g: the mean moves by %.3f, and %.3f is counted", c, skewness, moved, counted)
			}
		}
	}
}
