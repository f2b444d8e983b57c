package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// The widths of intervals are estimated by simulating federations with made-up records. The time
// grows with the cube of the number of coefficients, so there are foreseenFederations of them for
// up to foreseenCoefficients coefficients, and fewer for more coefficients, but at least
// leastForeseen.
const (
	foreseenFederations, leastForeseen = 20, 3
	foreseenCoefficients               = 30
)

// A foreseen holds the width that a coefficient's 95 % interval is expected to have.
type foreseen struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Half  float64 `json:"expected_half_width"` // half of the expected width of a 95 % interval, in the natural unit
	Prior float64 `json:"prior_half_width"`
	Share float64 `json:"share"` // expected sd divided by the prior sd, on the model's scale

	// The same for records whose numeric regressors vary less (see the constant narrow).
	NarrowHalf  float64 `json:"narrow_half_width"`
	NarrowShare float64 `json:"narrow_share"`
}

// In real records, numeric regressors seldom fill their bounds, and then say less about their
// coefficients. So the widths are also estimated for records whose regressors have their sds
// multiplied by narrow.
const narrow = 0.25

// An expectation has the expected widths of the intervals of a study.
type expectation struct {
	// Federations is the number of simulated federations for each extent of the columns. It is 0 if
	// the widths were not simulated, but computed from the noise and the information in made-up
	// records.
	Federations  int        `json:"federations"`
	Coefficients []foreseen `json:"coefficients"`
}

// foresee returns the expected widths of intervals. It returns nil if they are unknown: without
// privacy, without a model, or if the method cannot simulate federations and sharesByNoise returns
// nil. Simulations call played as [method.Foreseeing] describes.
func foresee(p *pvi.Protocol, played func(done, of int) error) (*expectation, error) {
	if p.Study().Privacy.Unit == study.None || p.Study().Model.Absent() {
		return nil, nil
	}
	federations, shares := 0, func(extent float64) ([]float64, error) { return sharesByNoise(p, extent) }
	if m, ok := p.Method().(method.Foreseeing); ok {
		federations = foreseenFederations
		if d := p.Model().Dim(); d > foreseenCoefficients {
			federations = max(leastForeseen, foreseenFederations*foreseenCoefficients/d*foreseenCoefficients/d)
		}
		before := 0 // number of rounds simulated for the first extent
		shares = func(extent float64) ([]float64, error) {
			all := 0
			defer func() { before += all }()
			return m.Foresee(federations, extent, func(done, of int) error {
				all = of
				return played(before+done, 2*of)
			})
		}
	}
	wide, err := shares(1)
	if err != nil || wide == nil {
		return nil, err
	}
	small, err := shares(narrow)
	if err != nil || small == nil {
		return nil, err
	}
	out := &expectation{federations, make([]foreseen, len(wide))}
	before, expected := intervals(p, slices.Repeat([]float64{1}, len(wide))), intervals(p, wide)
	for i, m := range intervals(p, small) {
		out.Coefficients[i] = foreseen{
			Name: p.Model().Parameters.At(i).Name, Unit: m.Unit,
			Half: half(expected[i]), Prior: half(before[i]), NarrowHalf: half(m), Share: wide[i], NarrowShare: small[i],
		}
	}
	return out, nil
}

func half(m fit.Natural) float64 { return (m.High - m.Low) / 2 }

// intervals returns 95 % intervals in natural units. The coordinates are independent, and their sds
// are the prior's times shares.
func intervals(p *pvi.Protocol, shares []float64) []fit.Natural {
	d := len(shares)
	mean, cov := make([]float64, d), mat.NewSymDense(d, nil)
	for i, share := range shares {
		of := p.Model().Parameters.Prior(i)
		mean[i] = of.Mean
		cov.SetSym(i, i, share*share*of.SD*of.SD)
	}
	return p.Model().Units().Marginals(mean, cov)
}

// informedBy is the number of made-up records over which sharesByNoise averages the information of
// one record.
const informedBy = 4000

// sharesByNoise returns, for each coordinate, the sd of an estimate divided by the prior's sd. The
// estimate is taken to be one Newton step to the mode, from one sum of gradients with noise of sd τ
// in each element. With the precision B of the posterior, from made-up records, its covariance is
//
//	B⁻¹ + τ²B⁻²
//
// This ignores clipping and unfinished steps. The result is nil if the model is not a regression or
// has groups, if the study does not give the number of records, or if B is numerically singular.
// extent is as for [method.MadeUpWithin].
func sharesByNoise(p *pvi.Protocol, extent float64) ([]float64, error) {
	m, st := p.Model(), p.Study()
	if m.General() || len(st.Model.Groups) > 0 || st.Federation.NominalRecords == 0 {
		return nil, nil
	}
	d := m.Dim()
	mean := make([]float64, d)
	for i := range mean {
		mean[i] = m.Parameters.Prior(i).Mean
	}
	records := shard.Design(st, method.MadeUpWithin(st, p.Digest(), 0, informedBy, extent))
	_, precision, err := m.Regression(records).Score(mean)
	if err != nil {
		return nil, err
	}
	precision.ScaleSym(float64(st.Federation.NominalRecords)*float64(len(p.Roster()))/informedBy, precision)
	for i := range d {
		sd := m.Parameters.Prior(i).SD
		precision.SetSym(i, i, precision.At(i, i)+1/(sd*sd))
	}
	var root mat.Cholesky
	inverse, squared := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	if !root.Factorize(precision) || root.InverseTo(inverse) != nil {
		return nil, nil // the information of the made-up records is numerically singular
	}
	squared.SymOuterK(1, inverse)
	noise, shares := p.Method().Forecast().Noise, make([]float64, d)
	for i := range shares {
		shares[i] = math.Sqrt(inverse.At(i, i)+noise*noise*squared.At(i, i)) / m.Parameters.Prior(i).SD
	}
	return shares, nil
}

// If a study has more than mostForeseen coefficients, [Plan] writes only those with the smallest
// shares. A share is the expected posterior sd divided by the prior sd. If it is above silent, the
// records say hardly anything about the coefficient, and the text says so.
const (
	mostForeseen = 40
	silent       = 0.9
)

func planForeseen(w io.Writer, p *pvi.Protocol, played func(done, of int) error) error {
	e, err := foresee(p, played)
	if err != nil || e == nil {
		return err
	}
	widths, width, columns := e.Coefficients, "expected ±", "columns that fill their bounds"
	differ := slices.ContainsFunc(widths, func(f foreseen) bool { return f.NarrowShare != f.Share })
	if differ {
		columns = "numeric columns that fill their bounds and, under \"narrow\", with columns that vary a quarter as much"
	}
	if e.Federations > 0 {
		fmt.Fprint(w, "\n"+wrap(fmt.Sprintf("Expected intervals of 95 %%, from %d made-up federations with %s.", e.Federations, columns))+"\n")
	} else {
		width = "at least ±"
		fmt.Fprint(w, "\n"+wrap("Smallest errors of 95 % that the noise permits, with "+columns+". Clipping and unfinished steps add to them.")+"\n")
	}
	rows := [][]string{{"", "prior ±", width, "share", "narrow ±", "share", ""}}
	quiet, quietIfNarrow := 0, 0
	for _, f := range widths {
		if f.Share > silent {
			quiet++
		}
		if f.NarrowShare > silent {
			quietIfNarrow++
		}
	}
	if len(widths) > mostForeseen {
		slices.SortStableFunc(widths, func(a, b foreseen) int { return cmp.Compare(a.Share, b.Share) })
		widths = widths[:mostForeseen]
	}
	for _, f := range widths {
		rows = append(rows, []string{f.Name, number(f.Prior), number(f.Half), number(f.Share), number(f.NarrowHalf), number(f.NarrowShare), f.Unit})
	}
	if !differ {
		for i, r := range rows {
			rows[i] = slices.Delete(r, 4, 6)
		}
	}
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	if quiet == p.Model().Dim() {
		fmt.Fprint(w, "\n"+wrap(fmt.Sprintf("This study is hopeless: none of its coefficients will be known better than by the prior (shares above %g). More records, a larger ε or fewer coefficients would help.", silent)))
		return nil
	}
	if quiet > 0 {
		fmt.Fprint(w, "\n"+wrap(fmt.Sprintf("Of %s, %d will say little more than the prior (a share above %g). More records, a larger ε or fewer coefficients would help.",
			plural(p.Model().Dim(), "coefficient"), quiet, silent)))
	} else if quietIfNarrow > 0 {
		fmt.Fprint(w, "\n"+wrap(fmt.Sprintf("If columns are narrow, %d of %s will say little more than the prior (a share above %g). Bounds that are closer to the values would help.",
			quietIfNarrow, plural(p.Model().Dim(), "coefficient"), silent)))
	}
	return nil
}
