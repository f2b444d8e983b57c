package dpmech

import (
	"math"
	"math/bits"
	"sync"
)

// tables caches the ziggurats that were made most recently, keyed by σ. All clients of a round use
// the same σ, and so do all runs of a sweep.
var tables struct {
	sync.Mutex
	of map[[2]uint64]*discreteZiggurat
}

const keptTables = 64

// zigguratOf returns the ziggurat of σ = num/den in lowest terms.
func zigguratOf(num, den uint64) *discreteZiggurat {
	tables.Lock()
	defer tables.Unlock()
	key := [2]uint64{num, den}
	z := tables.of[key]
	if z == nil {
		z = newDiscreteZiggurat(num, den)
		if len(tables.of) >= keptTables || tables.of == nil {
			tables.of = make(map[[2]uint64]*discreteZiggurat, keptTables)
		}
		tables.of[key] = z
	}
	return z
}

// newDiscreteZiggurat makes a ziggurat whose area c is close to the smallest possible. It increases
// c until it can prove that the layers cover the region under the curve.
func newDiscreteZiggurat(num, den uint64) *discreteZiggurat {
	sigma, bound := float64(num)/float64(den), sampleBound(num, den)
	z := &discreteZiggurat{curve: newCurve(num, den)}
	area := leastArea(sigma, float64(bound))
	for margin := 0x1p-20; ; margin *= 2 {
		z.area = uint64(math.Ceil(area * (1 + margin) * (1 << areaBits)))
		if z.stack(sigma, bound) {
			return z
		}
	}
}

// reach returns the largest |x| at which the density is above height, computed in floating point.
// The result need not be exact, because [discreteZiggurat.stack] proves its layers separately.
func reach(sigma, height, bound float64) float64 {
	if height >= 1 {
		return 0
	}
	return min(bound, math.Floor(sigma*math.Sqrt(-2*math.Log(height))))
}

// leastArea returns approximately the smallest area of a layer for which the layers reach up to the
// mode, where f is 1.
func leastArea(sigma, bound float64) float64 {
	low := max(1, math.Sqrt(2*math.Pi)*sigma) / zigguratLayers / 2
	high := low
	for top(high, sigma, bound) < 1 {
		high *= 2
	}
	for high-low > 0x1p-20*low {
		middle := (low + high) / 2
		if top(middle, sigma, bound) < 1 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// top returns approximately the height at which the highest layer ends if each layer has the given
// area. It stops at the first layer that ends at 1 or above.
func top(area, sigma, bound float64) (height float64) {
	for i := 0; i < zigguratLayers && height < 1; i++ {
		height += area / (2*reach(sigma, height, bound) + 1)
	}
	return height
}

// stack makes the layers, each with the area z.area. It reports whether they cover the region under
// the curve, as lower and upper bounds on f prove.
func (z *discreteZiggurat) stack(sigma float64, bound uint64) bool {
	foot := uint64(0) // lower bound on yᵢ, the exact height at which layer i begins; yᵢ is at most foot+i
	half := bound
	for i := range z.layers {
		if i > 0 && foot < 1<<unitBits {
			half = z.cover(foot, min(half, uint64(reach(sigma, math.Ldexp(float64(foot), -unitBits), float64(bound)))))
		}
		layer := &z.layers[i]
		layer.width, layer.foot = 2*half+1, foot
		layer.rise, _ = bits.Div64(z.area>>(64-unitBits+areaBits), z.area<<(unitBits-areaBits), layer.width)
		foot += layer.rise
		next := reach(sigma, math.Ldexp(float64(foot), -unitBits), float64(half))
		inside := z.under(foot+uint64(i)+1, uint64(next)+1)
		layer.from, layer.span = half+1-inside, max(2*inside, 1)-1
	}
	return foot >= 1<<unitBits
}

// cover returns an n ≥ half that is large enough for a layer: every x whose density is above the
// height at which the layer begins has |x| ≤ n. foot is a lower bound on this height. cover
// increases half until f(half+1) is proven to be at most foot.
func (z *discreteZiggurat) cover(foot, half uint64) uint64 {
	for {
		if _, high := z.curve.at(half + 1); high <= foot {
			return half
		}
		half++
	}
}

// under returns the largest m ≤ n for which f(x) is proven to be at least head for all |x| < m. The
// caller passes a head that is at least the height at which the layer ends, so the layer is under
// the curve there.
func (z *discreteZiggurat) under(head, n uint64) uint64 {
	for n > 0 {
		if low, _ := z.curve.at(n - 1); low >= head {
			break
		}
		n--
	}
	return n
}
