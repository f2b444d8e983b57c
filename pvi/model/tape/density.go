package tape

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

const logPi = 1.14472988584940017414342735135

// A term computes a density in several lanes. y holds the outcomes, and a the other arguments, at
// most three. The log densities are written to out, and the derivative with respect to argument k
// to d[k], unless that is nil. same[k] is true if argument k has the same value in all lanes.
type term struct {
	out, y []float64
	a, d   [3][]float64
	same   [3]bool
}

var kernels = map[ir.Density]func(t *term, s *scratch){
	ir.Normal: normal, ir.StudentT: studentT, ir.BernoulliLogit: bernoulliLogit,
	ir.BernoulliProbit: bernoulliProbit, ir.PoissonLog: poissonLog, ir.NegBinomialLog: negBinomialLog,
}

type scratch struct{ one, two []float64 }

func (m *Machine) densityForward(i, n int) {
	node := &m.nodes[i]
	d := ir.Density(node.Ref)
	if d == ir.Categorical {
		m.categorical(i, n)
		return
	}
	m.temporary = scratch{m.work, m.scratch}
	y, t := node.Args[0], &m.term
	for e := range m.size[i] {
		*t = term{out: m.lane(m.Value[i], m.size[i], e, n), y: m.lane(m.Value[y], m.size[y], e, n)}
		for k, a := range node.Args[1:] {
			t.a[k], t.same[k] = m.lane(m.Value[a], m.size[a], e, n), m.uniform[a]
			if p := m.partial[i][k+1]; p != nil {
				t.d[k] = m.lane(p, m.size[i], e, n)
			}
		}
		m.kernel[i](t, &m.temporary)
	}
}

func (m *Machine) densityBackward(i, n int) {
	g := m.Adjoint[i]
	for k, a := range m.nodes[i].Args {
		p := m.partial[i][k]
		if p == nil || m.isSettled(i, k) {
			continue
		}
		for e := range max(m.size[i], m.size[a]) {
			dst, d, u := m.lane(m.Adjoint[a], m.size[a], e, n), p[e*m.lanes:e*m.lanes+n], m.lane(g, m.size[i], e, n)
			addProducts(dst, u, d)
		}
	}
}

// normal computes −z²/2 − log σ − log √2π with z = (y−μ)/σ, for outcome y, mean μ and standard
// deviation σ.
func normal(t *term, s *scratch) {
	n := len(t.out)
	out, y, mu, sd := t.out, t.y[:n], t.a[0][:n], t.a[1][:n]
	inv, logs := s.one[:n], s.two[:n]
	if t.same[1] {
		r, c := 1/sd[0], math.Log(sd[0])+special.HalfLogTwoPi
		for l := range out {
			z := (y[l] - mu[l]) * r
			out[l] = -.5*z*z - c
			inv[l] = r
		}
	} else {
		special.LogAll(logs, sd)
		for l := range out {
			inv[l] = 1 / sd[l]
			z := (y[l] - mu[l]) * inv[l]
			out[l] = -.5*z*z - logs[l] - special.HalfLogTwoPi
		}
	}
	if d := t.d[0]; d != nil {
		d = d[:n]
		for l := range d {
			d[l] = (y[l] - mu[l]) * inv[l] * inv[l]
		}
	}
	if d := t.d[1]; d != nil {
		d = d[:n]
		for l := range d {
			z := (y[l] - mu[l]) * inv[l]
			d[l] = (z*z - 1) * inv[l]
		}
	}
}

// studentT computes
//
//	−(ν+1)/2·log1p(z²/ν) − log σ + c with z = (y−μ)/σ
//
// for outcome y, ν degrees of freedom, location μ and scale σ. The constant c normalises the
// density (see studentNorm).
func studentT(t *term, s *scratch) {
	n := len(t.out)
	y, nu, mu, sd := t.y[:n], t.a[0][:n], t.a[1][:n], t.a[2][:n]
	logs, scales := s.one[:n], s.two[:n]
	for l := range logs {
		z := (y[l] - mu[l]) / sd[l]
		logs[l] = 1 + z*z/nu[l]
	}
	special.LogAll(logs, logs)
	if t.same[2] {
		scales[0] = math.Log(sd[0])
		for l := range scales {
			scales[l] = scales[0]
		}
	} else {
		special.LogAll(scales, sd)
	}
	var norm, slope float64
	for l := range t.out {
		v, r := nu[l], 1/sd[l]
		if l == 0 || v != nu[l-1] {
			norm = studentNorm(v)
			if t.d[0] != nil {
				slope = studentSlope(v)
			}
		}
		z := (y[l] - mu[l]) * r
		w := (v + 1) / (v + z*z)
		t.out[l] = norm - scales[l] - .5*(v+1)*logs[l]
		if t.d[0] != nil {
			t.d[0][l] = .5 * (slope - logs[l] + w*z*z/v)
		}
		if t.d[1] != nil {
			t.d[1][l] = w * z * r
		}
		if t.d[2] != nil {
			t.d[2][l] = (w*z*z - 1) * r
		}
	}
}

// studentNorm returns log Γ((ν+1)/2) − log Γ(ν/2) − ½ log νπ.
func studentNorm(nu float64) float64 {
	return special.Lgamma(.5*(nu+1)) - special.Lgamma(.5*nu) - .5*math.Log(nu) - .5*logPi
}

// studentSlope returns twice the derivative of [studentNorm] with respect to ν.
func studentSlope(nu float64) float64 {
	return special.Digamma(.5*(nu+1)) - special.Digamma(.5*nu) - 1/nu
}

// bernoulliLogit computes yη − log(1+e^η) for an outcome y of 0 or 1 and log odds η.
func bernoulliLogit(t *term, s *scratch) {
	n := len(t.out)
	out, y, eta, soft := t.out, t.y[:n], t.a[0][:n], s.one[:n]
	prob := s.two[:n]
	if t.d[0] != nil {
		prob = t.d[0][:n]
	}
	special.SoftplusAll(soft, prob, eta)
	for l := range out {
		out[l] = y[l]*eta[l] - soft[l]
		prob[l] = y[l] - prob[l]
	}
}

// bernoulliProbit computes log Φ(η) for outcome 1 and log Φ(−η) for outcome 0.
func bernoulliProbit(t *term, _ *scratch) {
	for l := range t.out {
		sign := 2*t.y[l] - 1
		value, slope := special.LogPhi(sign * t.a[0][l])
		t.out[l] = value
		if t.d[0] != nil {
			t.d[0][l] = sign * slope
		}
	}
}

// poissonLog computes kη − e^η − log k! for count k and log mean η.
func poissonLog(t *term, s *scratch) {
	n := len(t.out)
	out, y, e, eta := t.out, t.y[:n], s.one[:n], t.a[0][:n]
	special.ExpAll(e, eta)
	products(out, y, eta)
	differences(out, out, e)
	for l, k := range y {
		out[l] -= special.LogFactorial(k)
	}
	if d := t.d[0]; d != nil {
		differences(d[:n], y, e)
	}
}

// negBinomialLog computes
//
//	k(η − log φ) − (k+φ)s + log Γ(k+φ) − log Γ(φ) − log k! with s = softplus(η − log φ)
//
// for count k, log mean η and dispersion φ.
func negBinomialLog(t *term, sc *scratch) {
	n := len(t.out)
	eta, phi := t.a[0][:n], t.a[1][:n]
	x, prob := sc.one[:n], sc.two[:n]
	logPhi := math.Log(phi[0])
	for l := range x {
		if phi[l] != phi[0] {
			logPhi = math.Log(phi[l])
		}
		x[l] = eta[l] - logPhi
		if phi[l] != phi[0] {
			logPhi = math.Log(phi[0])
		}
	}
	special.SoftplusAll(t.out, prob, x)
	for l := range t.out {
		k, s, f := t.y[l], t.out[l], phi[l]
		rise, slope := special.LogRising(f, k)
		t.out[l] = k*x[l] - (k+f)*s + rise - special.LogFactorial(k)
		if t.d[0] != nil {
			t.d[0][l] = k - (k+f)*prob[l]
		}
		if t.d[1] != nil {
			t.d[1][l] = slope - s + ((k+f)*prob[l]-k)/f
		}
	}
}

// categorical computes η_y − log Σ exp η for class y and logits η.
func (m *Machine) categorical(i, n int) {
	args := m.nodes[i].Args
	y, eta, size := m.Value[args[0]][:n], args[1], m.size[args[1]]
	total := m.third[:n]
	m.logSumExp(total, eta, n)
	out := m.Value[i][:n]
	for e := range size {
		x := m.lane(m.Value[eta], size, e, n)
		for l := range out {
			if y[l] == float64(e) {
				out[l] = x[l] - total[l]
			}
		}
		p := m.partial[i][1]
		if p == nil {
			continue
		}
		d := m.lane(p, size, e, n)
		for l := range d {
			d[l] = x[l] - total[l]
		}
		special.ExpAll(d, d)
		for l := range d {
			d[l] = -d[l]
			if y[l] == float64(e) {
				d[l]++
			}
		}
	}
}

// DensityLanes computes a density for several rows at a time. Kernels of package gpu use it.
type DensityLanes struct {
	term  term
	space scratch
	run   func(*term, *scratch)
	// slopes computes the derivatives without the densities, which is faster than run. It may be nil.
	slopes func(*term)
}

// NewDensityLanes returns a DensityLanes that computes d for at most lanes rows. It returns nil
// unless d is a density of records whose outcome and arguments are scalars.
func NewDensityLanes(d ir.Density, lanes int) *DensityLanes {
	if kernels[d] == nil {
		return nil
	}
	k := &DensityLanes{space: scratch{make([]float64, lanes), make([]float64, lanes)}, run: kernels[d]}
	if d == ir.BernoulliLogit {
		k.slopes = bernoulliLogitSlope
	}
	return k
}

// Argument sets the values of argument k, and the slice for the derivative with respect to it,
// which may be nil. Arguments are counted from 0, without the variate. same is true if all values
// are equal.
func (d *DensityLanes) Argument(k int, values, derivative []float64, same bool) {
	d.term.a[k], d.term.d[k], d.term.same[k] = values, derivative, same
}

// RunSlopes computes the derivatives without the densities, if there is a faster way to do that
// than Run. It reports whether there is. A derivative is NaN if the density is not finite.
func (d *DensityLanes) RunSlopes(y []float64) bool {
	if d.slopes == nil {
		return false
	}
	d.term.y = y
	d.slopes(&d.term)
	return true
}

// bernoulliLogitSlope computes y − 1/(1+e^−η), the derivative with respect to η.
func bernoulliLogitSlope(t *term) {
	y, eta, slope := t.y, t.a[0][:len(t.y)], t.d[0][:len(t.y)]
	special.InvLogitAll(slope, eta)
	for l := range slope {
		slope[l] = y[l] - slope[l] + (eta[l] - eta[l]) // eta[l] − eta[l] is 0, or NaN if eta[l] is not finite
	}
}

// Run writes the densities of the outcomes y to out.
func (d *DensityLanes) Run(out, y []float64) {
	d.term.out, d.term.y = out, y
	d.run(&d.term, &d.space)
}
