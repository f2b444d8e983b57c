package ep

import (
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// A Regression computes sites for a [solver.Regression], in which a record depends on θ through its
// predictors Aθ, where A has the record's rows of the design. Let m and V be the mean and
// covariance of the cavity, and Z the tilted normalising constant. Let g be the gradient of log Z
// in the predictors' means, and H minus its Hessian. The tilted distribution has the moments
//
//	mean = m + VAᵀg
//	covariance = V − VAᵀHAV
//
// (Minka 2001, section 3.3; Seeger, "Expectation propagation for exponential families", 2005). In a
// diagonal family the site matches means and variances only.
type Regression struct {
	weighted
	of     *solver.Regression
	y      []float64
	values []float64 // elements of the design
	power  float64
	one    *tilt  // workspace for one predictor, or nil
	many   *tilts // workspace for several predictors, or nil

	dense bool // whether every row of the design has an entry for every coordinate

	// touched sums the elements that fetch reads, because the compiler would remove unused reads.
	touched float64
	alone   [1]uint32
	beside  *beside

	mean, root  []float64 // mean of the predictors under the cavity, and the root of their covariance
	g, h        []float64 // with several predictors, the derivatives that slopes sets
	inner, twin []float64
}

// NewRegression returns a Regression for the records of r and the given family. The likelihood is
// raised to power, in (0, 1], and the natural parameters of sites are divided by it (Minka, "Power
// EP", 2004). In sites, precisions are multiplied by weight.
func NewRegression(r *solver.Regression, family gaussian.Family, power, weight float64) *Regression {
	response := r.Outcome().Response()
	k := response.Size()
	t := &Regression{
		weighted: newWeighted(family, weight), of: r, y: r.Outcomes(), values: r.Design().Values(),
		power: power, dense: true,
	}
	if k == 1 {
		t.one = newTilt(r.Outcome(), power)
	} else {
		t.many = newTilts(response, power)
	}
	for i := range r.Design().Len() {
		index, _ := r.Design().Row(i)
		t.dense = t.dense && len(index) == r.Dim()
	}
	if t.dense && k == 1 {
		t.beside = new(beside)
	}
	v := func(n int) []float64 { return make([]float64, n) }
	t.mean, t.root, t.g, t.h, t.inner, t.twin = v(k), v(k*k), v(k), v(k*k), v(k*k), v(k*k)
	return t
}

// Records implements [Tilted].
func (t *Regression) Records() int { return len(t.y) }

// Site implements [Tilted].
func (t *Regression) Site(dst []float64, record int) {
	switch {
	case t.one == nil:
		t.several(dst, record)
	case t.at.Covariance != nil:
		t.full(dst, record)
	case t.dense:
		t.alone[0] = uint32(record)
		t.together(dst, t.alone[:])
	default:
		t.sparse(dst, record)
	}
}

// fetch loads records, which are scattered in memory, into the CPU's caches. Loading several at
// once takes about as long as loading one.
func (t *Regression) fetch(records []uint32) {
	const line = 8 // number of float64s in a cache line
	k := len(t.mean)
	for _, i := range records {
		var row []float64
		if t.dense {
			row = t.values[int(i)*k*t.dim:][:k*t.dim]
		} else {
			_, row = t.of.Design().Rows(int(i)*k, k)
		}
		for n := 0; n < len(row); n += line {
			t.touched += row[n]
		}
		t.touched += t.y[i]
	}
}

// sparse writes the site of a record with few nonzero covariates, in a diagonal family, to dst.
func (t *Regression) sparse(dst []float64, record int) {
	clear(dst)
	index, value := t.of.Design().Row(record)
	var mean, variance float64
	for n, j := range index {
		mean += value[n] * t.at.Mean[j]
		variance += value[n] * value[n] * t.at.Variance[j]
	}
	g, h := t.one.slopes(t.y[record], mean, variance)
	for n, j := range index {
		bend := h * value[n] * value[n]
		stretch := 1 / (1 - t.at.Variance[j]*bend)
		dst[j] = g * value[n] * stretch / t.power
		dst[t.dim+int(j)] = bend * stretch * t.weight / t.power
	}
}

// full writes the site of a record in a family with a full covariance to dst.
func (t *Regression) full(dst []float64, record int) {
	clear(dst)
	t.of.Predictors(t.mean, record, t.at.Mean)
	variance := max(t.of.Covariance(record, record, t.at), 0)
	g, h := t.one.slopes(t.y[record], t.mean[0], variance)
	stretch := 1 / (1 - variance*h) / t.power
	g, h = g*stretch, h*stretch*t.weight
	index, value := t.of.Design().Row(record)
	for n, j := range index {
		dst[j] = g * value[n]
		row := dst[gaussian.Packed(t.dim, int(j), 0):]
		for m := range n + 1 {
			row[index[m]] = h * value[n] * value[m]
		}
	}
}

func (t *Regression) several(dst []float64, record int) {
	clear(dst)
	t.of.Predictors(t.mean, record, t.at.Mean)
	t.of.Spread(t.root, record, t.at)
	if !t.many.match(t.y[record], t.mean, t.root) {
		fillNaN(dst)
		return
	}
	if t.at.Covariance != nil {
		t.natural()
		t.scatter(dst, record, func(i, j int) int { return gaussian.Packed(t.dim, i, j) })
		return
	}
	t.slopes()
	t.scatter(dst, record, func(i, j int) int {
		if i == j {
			return t.dim + i
		}
		return -1
	})
	for j, bend := range dst[t.dim:] {
		stretch := 1 / (1 - t.at.Variance[j]*bend/t.weight*t.power)
		dst[j] *= stretch
		dst[t.dim+j] *= stretch
	}
}
