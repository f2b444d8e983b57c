package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
)

// These are the numbers of simulated federations from which the plan estimates the widths of
// intervals. A study with many coefficients has fewer simulations, because their time grows with
// the cube of that number.
const (
	foreseenFederations, leastForeseen = 20, 3
	foreseenCoefficients               = 30
)

// A foreseen is the expected width of a coefficient's 95 % interval.
type foreseen struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Half  float64 `json:"expected_half_width"` // half of the expected width, in the natural unit
	Prior float64 `json:"prior_half_width"`
	Share float64 `json:"share"` // expected sd divided by the prior's sd, on the model's scale
}

// foresee returns the expected widths of intervals, and the number of simulated federations from
// which they are estimated. It returns nil if the study's method cannot run simulated
// federations.
func foresee(p *pvi.Protocol) ([]foreseen, int, error) {
	m, ok := p.Method().(method.Foreseeing)
	if !ok {
		return nil, 0, nil
	}
	d := p.Model().Dim()
	federations := foreseenFederations
	if d > foreseenCoefficients {
		federations = max(leastForeseen, foreseenFederations*foreseenCoefficients/d*foreseenCoefficients/d)
	}
	shares, err := m.Foresee(federations)
	if err != nil {
		return nil, 0, err
	}
	mean, prior, after := make([]float64, d), mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for i, share := range shares {
		of := p.Model().Parameters.Prior(i)
		mean[i] = of.Mean
		prior.SetSym(i, i, of.SD*of.SD)
		after.SetSym(i, i, share*share*of.SD*of.SD)
	}
	units := p.Model().Units()
	before, expected := units.Marginals(mean, prior), units.Marginals(mean, after)
	out := make([]foreseen, d)
	for i, share := range shares {
		out[i] = foreseen{
			Name: p.Model().Parameters.At(i).Name, Unit: expected[i].Unit, Share: share,
			Half: (expected[i].High - expected[i].Low) / 2, Prior: (before[i].High - before[i].Low) / 2,
		}
	}
	return out, federations, nil
}

// mostForeseen is the maximum number of coefficients that a plan lists. If the expected posterior
// sd is above silent times the prior's sd, the plan states that the records give hardly any
// information.
const (
	mostForeseen = 40
	silent       = 0.9
)

// planForeseen writes the expected widths of intervals to the text plan of a study.
func planForeseen(w io.Writer, p *pvi.Protocol) error {
	widths, federations, err := foresee(p)
	if err != nil || widths == nil {
		return err
	}
	fmt.Fprintf(w, "\nExpected intervals of 95 %%, from %d made-up federations with columns even within their bounds\n\n", federations)
	rows := [][]string{{"", "expected ±", "prior ±", "share", ""}}
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
	if err := Table(w, "  ", 1, rows); err != nil {
		return err
	}
	if quiet > 0 {
		fmt.Fprint(w, "\n"+wrap(fmt.Sprintf("Of %s, %d will say little more than the prior (a share above %g). More records, a larger ε or fewer coefficients would help.",
			plural(p.Model().Dim(), "coefficient"), quiet, silent)))
	}
	return nil
}
