package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// To estimate the widths of intervals, federations with made-up records are simulated. The number
// of federations is foreseenFederations for at most foreseenCoefficients coefficients. With more
// coefficients it falls to leastForeseen, because the time of a simulation grows with the cube of
// the number of coefficients.
const (
	foreseenFederations, leastForeseen = 20, 3
	foreseenCoefficients               = 30
)

// A foreseen holds the expected width of a coefficient's 95 % interval.
type foreseen struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Half  float64 `json:"expected_half_width"` // half of the expected width of a 95 % interval, in the natural unit
	Prior float64 `json:"prior_half_width"`
	Share float64 `json:"share"` // expected sd divided by the prior's sd, on the model's scale
}

// An expectation has the expected widths of a study's intervals.
type expectation struct {
	// Federations is the number of simulated federations from which the widths are estimated. It is
	// 0 if the widths are computed only from the noise and the information of made-up records.
	Federations  int        `json:"federations"`
	Coefficients []foreseen `json:"coefficients"`
}

// foresee returns the expected widths of intervals, or nil if they are unknown: without privacy
// or a model, or if the method cannot simulate federations and sharesByNoise returns nil.
// Simulations call played as [method.Foreseeing] describes.
func foresee(p *pvi.Protocol, played func(done, of int) error) (*expectation, error) {
	if p.Study().Privacy.Unit == study.None || p.Study().Model.Absent() {
		return nil, nil
	}
	m, ok := p.Method().(method.Foreseeing)
	if !ok {
		shares, err := sharesByNoise(p)
		return expect(p, 0, shares), err
	}
	d := p.Model().Dim()
	federations := foreseenFederations
	if d > foreseenCoefficients {
		federations = max(leastForeseen, foreseenFederations*foreseenCoefficients/d*foreseenCoefficients/d)
	}
	shares, err := m.Foresee(federations, played)
	return expect(p, federations, shares), err
}

// expect converts shares, the expected posterior sds divided by prior sds, to widths in natural
// units. It returns nil if shares is nil.
func expect(p *pvi.Protocol, federations int, shares []float64) *expectation {
	if shares == nil {
		return nil
	}
	d := p.Model().Dim()
	mean, prior, after := make([]float64, d), mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for i, share := range shares {
		of := p.Model().Parameters.Prior(i)
		mean[i] = of.Mean
		prior.SetSym(i, i, of.SD*of.SD)
		after.SetSym(i, i, share*share*of.SD*of.SD)
	}
	units := p.Model().Units()
	before, expected := units.Marginals(mean, prior), units.Marginals(mean, after)
	out := &expectation{federations, make([]foreseen, d)}
	for i, share := range shares {
		out.Coefficients[i] = foreseen{
			Name: p.Model().Parameters.At(i).Name, Unit: expected[i].Unit, Share: share,
			Half: (expected[i].High - expected[i].Low) / 2, Prior: (before[i].High - before[i].Low) / 2,
		}
	}
	return out
}

// informedBy is the number of made-up records over which sharesByNoise averages the information of
// a record.
const informedBy = 4000

// sharesByNoise returns, for each coordinate, the sd of an estimate divided by the prior's sd. It
// assumes that the estimate is one Newton step to the mode, from one sum of gradients with noise of
// sd τ in each element. With the precision B of the posterior, which is computed from made-up
// records, the covariance of the estimate is
//
//	B⁻¹ + τ²B⁻²
//
// The effects of clipping and of unfinished steps are ignored. The result is nil if the model is
// not a regression or has groups, if the study does not state the number of records, or if B is
// numerically singular.
func sharesByNoise(p *pvi.Protocol) ([]float64, error) {
	m, st := p.Model(), p.Study()
	if m.General() || len(st.Model.Groups) > 0 || st.Federation.NominalRecords == 0 {
		return nil, nil
	}
	d := m.Dim()
	mean := make([]float64, d)
	for i := range mean {
		mean[i] = m.Parameters.Prior(i).Mean
	}
	records := shard.Design(st, method.MadeUp(st, p.Digest(), 0, informedBy))
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

// If a study has more than mostForeseen coefficients, the text that [Plan] writes has only those
// with the smallest shares. A share is the expected posterior sd of a coefficient divided by the
// prior's sd. If the share is above the constant silent, the text says that the records give hardly
// any information about the coefficient.
const (
	mostForeseen = 40
	silent       = 0.9
)

// planForeseen writes the expected widths of intervals.
func planForeseen(w io.Writer, p *pvi.Protocol, played func(done, of int) error) error {
	e, err := foresee(p, played)
	if err != nil || e == nil {
		return err
	}
	widths, width := e.Coefficients, "expected ±"
	if e.Federations > 0 {
		fmt.Fprintf(w, "\nExpected intervals of 95 %%, from %d made-up federations with columns even within their bounds\n\n", e.Federations)
	} else {
		width = "at least ±"
		fmt.Fprint(w, "\n"+wrap("Smallest errors of 95 % that the noise permits, with columns even within their bounds. Clipping and unfinished steps add to them.")+"\n")
	}
	rows := [][]string{{"", width, "prior ±", "share", ""}}
	quiet := 0
	for _, f := range widths {
		if f.Share > silent {
			quiet++
		}
	}
	if len(widths) > mostForeseen {
		slices.SortStableFunc(widths, func(a, b foreseen) int { return cmp.Compare(a.Share, b.Share) })
		widths = widths[:mostForeseen]
	}
	for _, f := range widths {
		rows = append(rows, []string{f.Name, number(f.Half), number(f.Prior), number(f.Share), f.Unit})
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
	}
	return nil
}
