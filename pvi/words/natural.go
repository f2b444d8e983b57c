package words

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/fit"
)

// ErrNoRatio is the error of [Natural] and [Estimates] if ratios are asked for, but the model has
// neither odds nor rates.
var ErrNoRatio = errors.New("this model has no odds and no rates: ratios are for logistic, softmax and count models")

// Natural writes a table of parameters in natural units, with central 95 % intervals. If other is
// not nil, it holds the same parameters under another posterior, which the table shows after a
// vertical bar. If ratios is true, log odds and log rates appear as the exponential of their mean,
// without an sd. If there is nothing else, the table has no sds.
func Natural(w io.Writer, names []string, of, other []fit.Natural, ratios bool) error {
	means, found := []string{"mean", "sd"}, false
	only := ratios && !slices.ContainsFunc(of, func(n fit.Natural) bool { return n.Ratio == "" })
	switch {
	case only:
		means = []string{"ratio"}
	case ratios:
		means[0] = "mean or ratio"
	}
	columns := append(means, "2.5 %", "97.5 %")
	posteriors, header := [][]fit.Natural{of}, append([]string{"", "unit"}, columns...)
	if other != nil {
		posteriors, header = append(posteriors, other), append(append(header, "│"), columns...)
	}
	rows := [][]string{header}
	for i, name := range names {
		row := []string{name, of[i].Unit}
		for k, posterior := range posteriors {
			if k > 0 {
				row = append(row, "│")
			}
			n := posterior[i]
			sd := Number(n.SD)
			if ratios && n.Ratio != "" {
				row[1], sd, found = n.Ratio, "", true
				n.Mean, n.Low, n.High = math.Exp(n.Mean), math.Exp(n.Low), math.Exp(n.High)
			}
			row = append(row, Number(n.Mean))
			if !only {
				row = append(row, sd)
			}
			row = append(row, Number(n.Low), Number(n.High))
		}
		rows = append(rows, row)
	}
	if ratios && !found {
		return ErrNoRatio
	}
	if err := Table(w, "  ", 2, rows); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(row []string) bool { return strings.HasPrefix(row[1], logOdds) }) {
		_, err := io.WriteString(w, "\n"+Wrap(oddsNote))
		return err
	}
	return nil
}

// logOdds is the prefix of the unit of a coefficient on the log odds scale.
const logOdds = "log odds"

const oddsNote = "Log odds of a probability p are ln(p/(1 − p)). A difference of 0.1 multiplies the odds p/(1 − p) by 1.105."

// Estimates writes a table of point estimates in natural units and on the model's scale. If pooled
// is not nil, it holds the posterior from the pooled records, which the table shows after a
// vertical bar. If ratios is true, log odds and log rates are exponentiated.
func Estimates(w io.Writer, of []fit.Estimate, pooled []fit.Natural, ratios bool) error {
	rows, found := [][]string{{"", "unit", "estimate", "on the model's scale"}}, false
	if ratios {
		rows[0][2] = "estimate or ratio"
	}
	if pooled != nil {
		rows[0] = append(rows[0], "│", "mean", "sd", "2.5 %", "97.5 %")
	}
	for i, e := range of {
		back, unit := func(x float64) float64 { return x }, e.Unit
		if ratios && e.Ratio != "" {
			back, unit, found = math.Exp, e.Ratio, true
		}
		row := []string{e.Name, unit, Number(back(e.Natural)), Number(e.Value)}
		if pooled != nil {
			p := pooled[i]
			sd := Number(p.SD)
			if ratios && e.Ratio != "" {
				sd = ""
			}
			row = append(row, "│", Number(back(p.Mean)), sd, Number(back(p.Low)), Number(back(p.High)))
		}
		rows = append(rows, row)
	}
	if ratios && !found {
		return ErrNoRatio
	}
	return Table(w, "  ", 2, rows)
}
