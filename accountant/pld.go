package accountant

import (
	"errors"
	"math"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// A tilting is a composition in which all losses are on a grid and all steps are tilted: the mass
// at each loss L is multiplied by e^(θL), and the masses are then normalised. The tail that
// determines δ(ε) becomes the bulk of the tilted distribution. Rounding errors are thus relative to
// δ and not to 1.
type tilting struct {
	upper bool    // true for upper bounds, false for lower bounds
	width float64 // distance between neighbouring grid points
	// offset is the loss at grid point 0. For a composition, it is the sum of the steps' offsets.
	offset float64
	order  float64 // θ, the order of the tilt
	laws   []tilted
	logM   float64 // sum of log(total tilted mass before normalisation) over all steps
	mean   float64 // mean of the composed loss, in grid points
	shift  float64 // sum of the field moved, over all steps
	added  float64 // upper bound on the mass at infinity
	steps  float64
}

// tilted is a tilted step, with the number of times that it happens.
type tilted struct {
	masses
	times float64
	mean  float64 // mean of the step's loss, in grid points
	moved int     // mean, rounded to an integer; subtracted from the indices before the Fourier transform
}

const unit = 0x1p-53

// quadratureError bounds the relative error of the mass of each cell.
const quadratureError = 5e-14

// tilting puts the losses of all steps on a grid of the given width and tilts them. A mass of at
// most cut, under P, is moved to an infinite loss for an upper bound, and left out for a lower
// bound. If aligned is true, each grid has a point where most of the tilted loss is (see newGrid).
// If a grid would have too many cells, tilting returns an error.
func (c *composition) tilting(order, width, cut float64, upper, aligned bool) (*tilting, error) {
	t := &tilting{upper: upper, width: width, order: order, steps: c.length()}
	var survives float64
	for _, s := range c.steps {
		g := newGrid(s.law, order, width, c.cut, aligned)
		l := tilted{times: s.times}
		if upper {
			l.masses = s.law.split(g, cut)
		} else {
			l.masses = s.law.merge(g, cut)
		}
		if l.cut || len(l.mass) == 0 {
			return nil, errWindow
		}
		survives += s.times * math.Log1p(-l.infinite)
		t.offset += s.times * g.offset
		exponent := func(i int) float64 { return math.Log(l.mass[i]) + order*width*float64(l.index[i]) }
		most := math.Inf(-1)
		for i := range l.mass {
			most = max(most, exponent(i))
		}
		var sum float64
		for i := range l.mass {
			l.mass[i] = math.Exp(exponent(i) - most)
			sum += l.mass[i]
		}
		for i, k := range l.index {
			l.mass[i] /= sum
			l.mean += l.mass[i] * float64(k)
		}
		l.moved = int(math.Round(l.mean))
		t.logM += s.times * (most + math.Log(sum) + order*g.offset)
		t.mean += s.times * l.mean
		t.shift += s.times * float64(l.moved)
		t.laws = append(t.laws, l)
	}
	t.added = -math.Expm1(survives)
	return t, nil
}

func (t *tilting) at(index int) float64 { return t.offset + float64(index)*t.width }

// outside returns two Chernoff bounds on the tilted mass of the composed loss: that of losses more
// than reach above the mean, and that of losses more than reach below.
func (t *tilting) outside(reach float64) (above, below float64) {
	up, down := math.Inf(1), math.Inf(1)
	for _, exponent := range []float64{25, 50, 100, 170} {
		a := exponent / reach
		rise, fall := -exponent, -exponent
		for _, l := range t.laws {
			var r, f float64
			for i, k := range l.index {
				if l.mass[i] == 0 { // the mass underflowed to 0; e may overflow here, and 0·Inf is NaN
					continue
				}
				e := math.Exp(a * t.width * (float64(k) - l.mean))
				r += l.mass[i] * e
				f += l.mass[i] / e
			}
			rise += l.times * math.Log(r)
			fall += l.times * math.Log(f)
		}
		// If r has overflowed, rise is +Inf or NaN, and the bound from a smaller exponent remains.
		if rise < up {
			up = rise
		}
		if fall < down {
			down = fall
		}
	}
	return min(1, math.Exp(up)), min(1, math.Exp(down))
}

// margin bounds the relative error of δ that comes from quadrature and rounding.
func (t *tilting) margin() float64 {
	margin := (t.order + 2) * (quadratureError + 4*unit)
	if !t.upper {
		margin += (mergeError*t.width + 8*unit) * (t.order + 1)
	}
	return 1e-9 + t.steps*margin
}

// A window is the distribution of the composed loss around its tilted mean. It gives a bound on
// δ(ε) for any ε between its ends. The bound covers all errors: mass that was removed from the
// steps, mass that wraps around the ends, rounding in the Fourier transform, and the errors in
// [tilting.margin].
type window struct {
	*tilting
	*workspace
	first  int     // grid point of the window's entry 0
	lowest int     // lowest usable entry; below it, the exponents in the sums of [window.sum] would overflow
	centre float64 // reference loss for the exponents in the sums of [window.sum]
	scale  float64 // logM − order·centre; e^scale converts the sums of [window.sum] to δ
	start  int     // position of the window's entry 0 in row
	noise  float64 // bound on the error of each mass in row
	// wrapped bounds the tilted mass outside the window. Losses above the window raise δ by at most
	// e^scale·lost.
	wrapped, lost float64
}

const (
	// transformError bounds the rounding error of a transform of size n. The error of each output
	// is at most transformError·u·log2 n times the sum of the moduli of the input, where u is the
	// unit roundoff. (For radix 2, Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
	// theorem 24.2, proves a value below 7.)
	transformError = 8
	// maxTransform is the size of the largest transform. It takes 60 MiB with its buffers.
	maxTransform = 3 << 19
)

var errWindow = errors.New("privacy loss distribution: the composed loss exceeds the largest transform")

// A workspace has the memory for a composition on n grid points. It is reused, because allocating
// this memory takes as long as the computation.
type workspace struct {
	plan     *fourier.FFT
	row      []float64
	spectrum []complex128
	sums     [][2]float64 // the two sums of [window.sum], for every block-th entry as the first
	// The following fields are used only if the composition has several kinds of steps.
	total     []complex128
	amplified []float64
}

var workspaces sync.Pool // a pool of *workspace

func newWorkspace(n int) *workspace {
	ws, _ := workspaces.Get().(*workspace)
	if ws == nil {
		ws = &workspace{plan: fourier.NewFFT(n)}
	}
	if ws.plan.Len() != n {
		ws.plan.Reset(n)
	}
	if cap(ws.row) < n {
		*ws = workspace{plan: ws.plan} // drop the old memory before allocating new memory
		ws.row = make([]float64, n)
		ws.spectrum = make([]complex128, n/2+1)
		ws.sums = make([][2]float64, n/block+2)
	}
	ws.row, ws.spectrum, ws.sums = ws.row[:n], ws.spectrum[:n/2+1], ws.sums[:n/block+2]
	return ws
}

// release returns the window's memory to the pool. The window must not be used afterwards.
func (w *window) release() { workspaces.Put(w.workspace) }

// window returns the distribution of the composed loss on n grid points.
func (t *tilting) window(n int) *window {
	w := &window{tilting: t, workspace: newWorkspace(n)}
	middle := int(math.Round(t.mean))
	w.first = middle - n/2
	w.centre = t.at(middle)
	w.scale = t.logM - t.order*w.centre
	reach := float64(n/2-2) * t.width
	above, below := t.outside(reach)
	w.wrapped = min(1, above+below)
	w.lost = above * math.Exp(-t.order*reach)

	w.noise = t.compose(w.workspace)
	w.start = (w.first - int(math.Mod(t.shift, float64(n)))) % n
	if w.start < 0 {
		w.start += n
	}
	w.lowest = max(0, n/2-int(600/(t.order*t.width)))
	var sums [2]float64
	for i := n; i > w.lowest; {
		to := max(w.lowest, (i-1)/block*block)
		sums = w.sum(sums, to, i)
		if i = to; i%block == 0 {
			w.sums[i/block] = sums
		}
	}
	return w
}

// A window stores the sums of [window.sum] for every block-th entry. tail computes the others from
// these.
const block = 64

// sum returns two sums over all entries of the window from first on. It computes them from the same
// sums over all entries from next on:
//
//	Σ mass·e^(−θ(l−centre))
//	Σ mass·e^(−θ(l−centre))·e^(l₀−l)
//
// where θ is the order of the tilt, l is the loss of an entry, and l₀ is the loss of the first
// entry of the sum.
func (w *window) sum(sums [2]float64, first, next int) [2]float64 {
	n := len(w.row)
	above, damped := sums[0], sums[1]
	rise, fall := math.Exp(w.order*w.width), math.Exp(-w.width)
	weight := math.Exp(-w.order * w.width * float64(next-1-n/2))
	at := (w.start + next - 1) % n
	for range next - first {
		var mass float64
		if w.upper {
			mass = max(0, w.row[at]) + w.noise
		} else {
			mass = max(0, w.row[at]-w.noise)
		}
		mass *= weight
		above += mass
		damped = damped*fall + mass
		weight *= rise
		if at--; at < 0 {
			at = n - 1
		}
	}
	return [2]float64{above, damped}
}

// tail returns the two sums of [window.sum] over all entries from i on.
func (w *window) tail(i int) [2]float64 {
	if i%block == 0 {
		return w.sums[i/block]
	}
	n := len(w.row)
	next := (i/block + 1) * block
	if next >= n {
		return w.sum([2]float64{}, i, n)
	}
	return w.sum(w.sums[next/block], i, next)
}

// compose uses a Fourier transform to compute the distribution of the composed loss, and writes it
// to ws.row. The mass of a grid point is at its index minus t.shift, modulo the length of the row.
// Its error is at most noise.
func (t *tilting) compose(ws *workspace) (noise float64) {
	n := len(ws.row)
	// rounding bounds the relative error of a Fourier transform followed by its inverse.
	rounding := transformError * unit * (math.Log2(float64(n)) + 1)
	total := ws.spectrum
	if len(t.laws) > 1 {
		if cap(ws.total) <= n/2 {
			ws.total, ws.amplified = make([]complex128, n/2+1), make([]float64, n/2+1)
		}
		ws.total, ws.amplified = ws.total[:n/2+1], ws.amplified[:n/2+1]
		total = ws.total
		clear(ws.amplified)
	}
	for which, l := range t.laws {
		clear(ws.row)
		for i, k := range l.index {
			at := (k - l.moved) % n
			if at < 0 {
				at += n
			}
			ws.row[at] += l.mass[i]
		}
		ws.plan.Coefficients(ws.spectrum, ws.row)
		least := math.Exp(-160 / l.times)
		for j, f := range ws.spectrum {
			square := real(f)*real(f) + imag(f)*imag(f)
			grown := complex(0, 0) // remains 0 if the power underflows
			// the absolute error of the spectrum, times amplified, is the relative error of the
			// power
			amplified := l.times
			if square >= least {
				grown = power(f, l.times)
				amplified = l.times / math.Sqrt(square)
			}
			if which == 0 {
				total[j] = grown
			} else {
				total[j] *= grown
			}
			if len(t.laws) > 1 {
				ws.amplified[j] += amplified
			} else {
				noise += standsFor(j) * min(2, rounding*max(modulus(grown), 1e-30)*(amplified+1))
			}
		}
	}
	for j, f := range total {
		if len(t.laws) > 1 {
			noise += standsFor(j) * min(2, rounding*max(modulus(f), 1e-30)*(ws.amplified[j]+1))
		}
		total[j] /= complex(float64(n), 0)
	}
	ws.plan.Sequence(ws.row, total)
	return noise / float64(n)
}

// standsFor bounds how many coefficients of the full Fourier transform coefficient j of the real
// transform stands for. All except the first may have a mirror image.
func standsFor(j int) float64 {
	if j == 0 {
		return 1
	}
	return 2
}

func modulus(f complex128) float64 { return math.Sqrt(real(f)*real(f) + imag(f)*imag(f)) }

// power computes f^n by repeated squaring, where n ≥ 1 is an integer.
func power(f complex128, n float64) complex128 {
	result := complex(1, 0)
	for k := uint64(n); ; f *= f {
		if k&1 == 1 {
			result *= f
		}
		if k >>= 1; k == 0 {
			return result
		}
	}
}

// read returns the upper or lower bound on δ(ε). i is the first entry whose loss is above ε.
func (w *window) read(i int, epsilon float64) float64 {
	sums := w.tail(i)
	delta := math.Exp(w.scale) * (sums[0] - math.Exp(epsilon-w.at(w.first+i))*sums[1])
	if w.upper {
		return min(1, (delta+w.blur(epsilon))*(1+w.margin())+up(w.added))
	}
	return max(0, (delta-w.blur(epsilon))*(1-w.margin())+w.added*(1-0x1p-50))
}

// blur bounds how much the mass outside the window affects δ(ε). An upper bound misses the mass
// above the window. In a lower bound, mass that wraps around appears at wrong losses. It adds at
// most as much to δ(ε) as if all of it were at the loss ε.
func (w *window) blur(epsilon float64) float64 {
	if w.upper {
		return math.Exp(w.scale) * w.lost
	}
	return math.Exp(w.scale-w.order*(epsilon-w.centre)) * w.wrapped
}

// delta returns the bound on δ(ε). If ε is outside the window, ok is false.
func (w *window) delta(epsilon float64) (delta float64, ok bool) {
	i := int(math.Floor((epsilon-w.offset)/w.width)) + 1 - w.first
	if i < w.lowest || i >= len(w.row) {
		return 0, false
	}
	return w.read(i, epsilon), true
}

// epsilon returns the bound on ε(δ), which is at least 0. If ε(δ) is outside the window, ok is
// false.
func (w *window) epsilon(delta float64) (epsilon float64, ok bool) {
	at := func(i int) float64 { return w.read(i+1, w.at(w.first+i)) }
	zero := int(math.Floor(-w.offset/w.width)) - w.first // highest entry whose loss is not positive
	low, high := max(w.lowest, zero), len(w.row)-2
	if low >= high {
		return 0, false
	}
	if at(low) <= delta {
		return 0, low == zero // 0 is right if δ(0) ≤ δ; if all usable entries have a positive loss, this is unknown
	}
	if !(at(low) > delta && at(high) <= delta) {
		return 0, false
	}
	for high-low > 1 {
		if middle := (low + high) / 2; at(middle) <= delta {
			high = middle
		} else {
			low = middle
		}
	}
	from, to := w.at(w.first+low), w.at(w.first+high)
	from, to = bisect(from, to, func(epsilon float64) bool { return w.read(low+1, epsilon) <= delta })
	if w.upper {
		return max(0, to), true
	}
	return max(0, from), true
}
