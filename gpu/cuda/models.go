package cuda

import (
	"errors"
	"fmt"
	"math"
)

// A PriorKind is the kind of a coordinate's prior.
type PriorKind uint64

// These are the kinds of priors, numbered as in the kernels. The comments tell how the fields First
// and Second of a [Prior] are used.
const (
	NormalPrior PriorKind = iota // normal distribution of the [Base]; First and Second are not used
	// StickPrior is the prior of a stick-breaking coordinate when the weights have a symmetric
	// Dirichlet distribution. First is the distribution's concentration, and Second is the number
	// of components that come after the coordinate's component.
	StickPrior
	LogInverseGamma // logarithm of an inverse-gamma variable; First is the shape and Second the scale
	LogHalfNormal   // logarithm of a half-normal variable; First is the variance of the normal variable
	LogHalfCauchy   // logarithm of a half-Cauchy variable; First is the square of the scale
)

// A Prior is the prior of one coordinate.
type Prior struct {
	Kind          PriorKind
	First, Second float64
}

// A Base describes q before the first round of a study: θ has independent normal coordinates, whose
// means and sds are in Mean and SD. If the prior is a different distribution, the objective also
// has the term Share·log(prior/base), this problem's share of the prior.
type Base struct {
	Mean, SD []float64
	Share    float64
	Priors   []Prior // prior of each coordinate; nil if all priors are normal
}

func (b *Base) check(d int) error {
	if b.Priors == nil {
		return nil
	}
	if len(b.Mean) != d || len(b.SD) != d || len(b.Priors) != d || math.IsNaN(b.Share) {
		return fmt.Errorf("cuda: a base has %d coordinates, want %d and a share of the prior", len(b.Mean), d)
	}
	return nil
}

// words returns the priors as 64-bit words, in the format of the kernels.
func (b *Base) words() (words []uint64) {
	for i, p := range b.Priors {
		words = appendFloats(append(words, uint64(p.Kind)), []float64{p.First, p.Second, b.Mean[i], b.SD[i]})
	}
	return words
}

// places checks that the spans lie within the coordinates 0 to d−1 and do not overlap. A span is
// a pair: its first coordinate, and the number of its coordinates.
func places(d int, spans ...[2]int) error {
	taken := make([]bool, d)
	for _, s := range spans {
		for i := s[0]; i < s[0]+s[1]; i++ {
			if i < 0 || i >= d || taken[i] {
				return fmt.Errorf("cuda: coordinate %d, of %d, does not exist or is used twice", i, d)
			}
			taken[i] = true
		}
	}
	return nil
}

// formed returns a function from a block's number of threads to the number of words of shared
// memory that the block needs. dim is the number of coordinates, and dense is how many of them
// every record depends on. kept is the number of words per thread, and shared is the number of
// words for all threads together.
func formed(dim, dense, kept, shared int) func(threads int) int {
	return func(threads int) int { return shared + threads*kept + threads + dim + max(threads, dense) + threads/2 }
}

// A Mixture has the records of a problem, and the layout of θ, for a mixture of Gaussians with
// independent variables. If Weights is true, the first Components−1 coordinates determine the
// weights by stick breaking (see ir.Simplex of package pvi/model/ir). Otherwise all weights are
// equal.
type Mixture struct {
	Dim, Components, Variables int
	Weights                    bool
	// Means and Spreads have one element per variable. It is the index of the first of Components
	// consecutive coordinates, which are means for Means, and log(variance)/Growth for Spreads. So
	// Growth is 2 for log sds. If Spreads is nil, all variances are 1/Precision.
	Means, Spreads    []int
	Growth, Precision float64
	Rows              []float64 // values of the variables, record after record
	Base              Base
}

func (m *Mixture) check() error {
	k, v := m.Components, m.Variables
	switch {
	case m.Dim > MaxDim || k < 1 || v < 1 || k > MaxDim || v > MaxDim:
		return fmt.Errorf("cuda: a mixture of %d components and %d variables with %d coordinates is too small or too large", k, v, m.Dim)
	case len(m.Means) != v || m.Spreads != nil && len(m.Spreads) != v || len(m.Rows)%v != 0:
		return errors.New("cuda: means, spreads and rows need a number for each variable")
	case m.Spreads == nil && !positive(m.Precision) || m.Spreads != nil && !positive(m.Growth):
		return errors.New("cuda: precision, or growth, must be positive and finite")
	}
	spans := [][2]int{{0, (k - 1) * count(m.Weights)}}
	for _, first := range append(append([]int{}, m.Means...), m.Spreads...) {
		spans = append(spans, [2]int{first, k})
	}
	return errors.Join(places(m.Dim, spans...), m.Base.check(m.Dim))
}

// Put copies the data to a device.
func (m Mixture) Put(d Device) (*Table, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	k, v := m.Components, m.Variables
	pieces := (k - 1) * count(m.Weights)
	model := []float64{float64(k), float64(v), float64(count(m.Weights)), 0, m.Precision}
	if m.Spreads != nil {
		model[3] = m.Growth
	}
	for _, first := range append(append([]int{}, m.Means...), m.Spreads...) {
		model = append(model, float64(first))
	}
	t := &Table{
		device: d, kernel: "descend_mixture", records: len(m.Rows) / v, dim: m.Dim, share: m.Base.Share,
		shared: formed(m.Dim, pieces+k*v*(1+count(m.Spreads != nil)), k+pieces, k*(1+v)+2*pieces),
	}
	return t.put(content{rows: m.Rows, model: model, priors: m.Base.words()})
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// An Effect is a regression coefficient that varies between groups. It adds τ·z·c to a record's
// linear predictor η. Here τ is the standard deviation of the coefficient, z is the value of the
// record's group, and c is the record's element of Carrier.
type Effect struct {
	Spread  int       // index in θ of log τ, where τ is the sd of the effect
	First   int       // index in θ of the value z of the first group; the other groups follow
	Groups  int       // number of groups
	Group   []int     // group of each record, counted from 0
	Carrier []float64 // the value c of each record, which multiplies the effect; nil means 1, as for an intercept
}

// A Multilevel has the records of a problem, and the layout of θ, for a regression whose
// coefficients may vary between groups. The first coordinates are the coefficients of the features.
// The spread of the outcomes may be a coordinate too.
type Multilevel struct {
	Family        Family
	Dim, Features int
	Effects       []Effect
	// index of the coordinate with the log sd ([Linear]), the log scale ([Robust]) or log φ
	// ([NegativeBinomial]); negative if there is none
	Scale     int
	Precision float64   // precision of Linear outcomes whose sd is known
	Degrees   float64   // degrees of freedom of Robust outcomes
	Rows      []float64 // values of the features, record after record
	Outcomes  []float64 // outcome of each record
	Base      Base
}

func (m *Multilevel) check() error {
	n := len(m.Outcomes)
	may, must := m.Family.spread()
	switch {
	case m.Family >= families:
		return fmt.Errorf("cuda: no family has the number %d", m.Family)
	case m.Features < 0 || m.Dim < 1 || m.Dim > MaxDim:
		return fmt.Errorf("cuda: %d features and %d coordinates are too few or too many", m.Features, m.Dim)
	case len(m.Rows) != n*m.Features:
		return errors.New("cuda: every outcome needs a row with a number for each feature")
	case m.Scale >= 0 && !may || m.Scale < 0 && must || m.Family == Linear && m.Scale < 0 && !positive(m.Precision):
		return errors.New("cuda: outcomes need, depending on their family, a coordinate of their spread, a positive precision, or neither")
	case m.Family == Robust && !positive(m.Degrees):
		return fmt.Errorf("cuda: degrees of freedom must be positive and finite, got %g", m.Degrees)
	}
	spans := [][2]int{{0, m.Features}, {max(m.Scale, 0), count(m.Scale >= 0)}}
	for _, e := range m.Effects {
		if len(e.Group) != n || e.Carrier != nil && len(e.Carrier) != n || e.Groups < 1 || e.Groups > MaxDim {
			return errors.New("cuda: every record needs a group, and a carrier, for each effect")
		}
		for _, g := range e.Group {
			if g < 0 || g >= e.Groups {
				return errors.New("cuda: a record is in a group that does not exist")
			}
		}
		spans = append(spans, [2]int{e.Spread, 1}, [2]int{e.First, e.Groups})
	}
	return errors.Join(places(m.Dim, spans...), m.Base.check(m.Dim))
}

// Put copies the data to a device.
func (m Multilevel) Put(d Device) (*Table, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	model := []float64{m.Precision, m.Degrees, float64(m.Features), float64(len(m.Effects)), float64(m.Scale)}
	for _, e := range m.Effects {
		model = append(model, float64(e.Spread), float64(e.First))
	}
	rows := make([]float64, 0, len(m.Outcomes)*(m.Features+2*len(m.Effects)))
	for i := range m.Outcomes {
		rows = append(rows, m.Rows[i*m.Features:][:m.Features]...)
		for _, e := range m.Effects {
			carrier := 1.0
			if e.Carrier != nil {
				carrier = e.Carrier[i]
			}
			rows = append(rows, float64(e.Group[i]), carrier)
		}
	}
	t := &Table{
		device: d, kernel: "descend_multilevel", family: m.Family, records: len(m.Outcomes), dim: m.Dim, share: m.Base.Share,
		shared: formed(m.Dim, m.Features+len(m.Effects)+count(m.Scale >= 0), 2, len(m.Effects)+2),
	}
	return t.put(content{rows: rows, outcomes: m.Outcomes, model: model, priors: m.Base.words()})
}
