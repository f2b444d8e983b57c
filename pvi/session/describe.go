package session

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Posterior is a [Result] with names, intervals and natural units. If the study reports point
// estimates, it has Estimates instead of Marginals, and the Result has no q.
type Posterior struct {
	Marginals []Marginal     `json:"marginals,omitempty"`
	Estimates []fit.Estimate `json:"estimates,omitempty"`

	// Quantities are computed from the parameters. See [fit.Quantity].
	Quantities []fit.Quantity `json:"quantities,omitempty"`

	// Prior compares the posterior with the prior. It is nil in version 1 and for priors that are not
	// normal.
	Prior []fit.AgainstPrior `json:"against_prior,omitempty"`

	Units  fit.Units `json:"natural_map"` // linear map from θ to natural units
	Result *Result   `json:"result"`

	doubt string // see [study.Study.Doubt]
	model *fit.Model
}

// A Marginal is the posterior distribution of one parameter.
type Marginal struct {
	Name string `json:"name"`
	Log  bool   `json:"log"` // whether the logarithm of the parameter is normal, rather than the parameter

	// Natural is the marginal in natural units. If there is a noise-aware posterior, it includes the
	// privacy noise.
	fit.Natural

	// NoiseAware is the interval that includes the privacy noise, or nil.
	NoiseAware *Interval `json:"noise_aware,omitempty"`

	// NoiseSD is the part of the noise-aware standard deviation that the privacy noise causes. It is
	// nil if there is no noise-aware posterior, or if its standard deviation is smaller than that of
	// q.
	NoiseSD *float64 `json:"noise_sd,omitempty"`

	Interval // interval under q, without the privacy noise
}

// An Interval holds the central 95 % and 90 % intervals of a parameter on the model's scale. Mean
// and SD describe the parameter or, if [Marginal].Log is true, its logarithm. The quantiles are
// always those of the parameter itself.
type Interval struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"q2.5"`
	Upper float64 `json:"q97.5"`
	Q5    float64 `json:"q5"`
	Q95   float64 `json:"q95"`
}

// normal90 is the 95 % quantile of the standard normal distribution.
const normal90 = 1.6448536269514722

func interval(p fit.Parameter, mean, sd float64) Interval {
	at := func(z float64) float64 { return p.Back(mean + z*sd) }
	return Interval{mean, sd, at(-fit.Normal95), at(fit.Normal95), at(-normal90), at(normal90)}
}

// Describe adds names, intervals and natural units to the result of a study.
func Describe(st *study.Study, r *Result) (*Posterior, error) {
	if !st.HasScale() {
		var found []study.Bounds
		for _, c := range r.Scale {
			found = append(found, c.Bounds)
		}
		var err error
		if st, err = st.WithScale(found); err != nil {
			return nil, err
		}
	}
	m, err := fit.New(st)
	if err != nil {
		return nil, err
	}
	if st.Model.Absent() {
		return &Posterior{Result: r, model: m}, nil
	}
	points := st.Points() || r.SD == nil
	if m.Dim() != len(r.Mean) || !points && len(r.SD) != len(r.Mean) {
		return nil, fmt.Errorf("the result has %d parameters, but study %s has %d: another version of this program wrote it", len(r.Mean), st.Name, m.Dim())
	}
	p := &Posterior{Result: r, Units: m.Units(), doubt: st.Doubt(), model: m}
	if points {
		without := *r
		without.Natural, without.SD, without.Covariance = nil, nil, nil
		p.Result, p.Estimates = &without, m.Estimates(r.Mean)
		p.Quantities, err = m.QuantitiesAt(r.Mean)
		return p, err
	}
	p.Marginals = make([]Marginal, 0, m.Dim())
	natural := p.Units.Marginals(p.Moments())
	for i, parameter := range m.Parameters.All() {
		out := Marginal{Name: parameter.Name, Log: parameter.Log, Natural: natural[i], Interval: interval(parameter, r.Mean[i], r.SD[i])}
		if a := r.NoiseAware; a != nil {
			aware := interval(parameter, a.Mean[i], a.SD[i])
			out.NoiseAware = &aware
			if more := a.SD[i]*a.SD[i] - r.SD[i]*r.SD[i]; more >= 0 {
				noise := math.Sqrt(more)
				out.NoiseSD = &noise
			}
		}
		p.Marginals = append(p.Marginals, out)
	}
	if st.Version == 1 {
		return p, nil
	}
	mean, cov := p.Moments()
	if p.Prior, err = m.AgainstPrior(mean, cov); err != nil {
		return nil, err
	}
	family, q, err := p.gaussian()
	if err != nil {
		return nil, err
	}
	p.Quantities, err = m.Quantities(family, q)
	return p, err
}

// Generator returns a generator for the quantities that the study's program computes after the fit.
// It returns nil if there are none.
func (p *Posterior) Generator() *model.Generator { return p.model.Generator() }

// gaussian returns the posterior of [Posterior.Moments] as a family and natural parameters.
func (p *Posterior) gaussian() (gaussian.Family, []float64, error) {
	if p.model.Study.Model.Absent() {
		return nil, nil, errors.New("the study has no model, and so no posterior")
	}
	mean, cov := p.Moments()
	family := gaussian.Full(len(mean))
	if _, independent := cov.(*mat.DiagDense); independent {
		family = gaussian.Diagonal(len(mean))
	}
	natural := make([]float64, family.Size())
	return family, natural, family.FromMoments(natural, mean, cov)
}

// Moments returns the mean and the covariance of θ under the posterior that readers should use.
// That is the noise-aware posterior or, if there is none, q.
func (p *Posterior) Moments() ([]float64, mat.Symmetric) {
	r := p.Result
	mean, sd, rows := r.Mean, r.SD, r.Covariance
	if a := r.NoiseAware; a != nil {
		mean, sd, rows = a.Mean, a.SD, a.Covariance
	}
	if rows != nil {
		return mean, mat.NewSymDense(len(rows), slices.Concat(rows...))
	}
	variances := make([]float64, len(sd))
	for i, s := range sd {
		variances[i] = s * s
	}
	return mean, mat.NewDiagDense(len(sd), variances)
}

// Table writes the posterior, first in natural units and then on the model's scale. If ratios is
// true, effects in natural units are written as ratios of odds or rates ([words.Natural]). Point
// estimates have only one table. After that come generated quantities, notes, the tables that
// describe the records, and the scores of held-out records.
func (p *Posterior) Table(w io.Writer, ratios bool) error {
	if p.model.Study.Model.Absent() {
		return p.tables(w)
	}
	table := p.table
	if p.Estimates != nil {
		table = func(w io.Writer, ratios bool) error { return words.Estimates(w, p.Estimates, nil, ratios) }
	}
	if err := table(w, ratios); err != nil {
		return err
	}
	if p.Quantities != nil {
		fmt.Fprint(w, "\n"+words.QuantitiesTitle+"\n\n")
		if err := words.Quantities(w, p.Quantities, nil); err != nil {
			return err
		}
	}
	if len(p.Notes()) > 0 || p.Result.Tables != nil {
		io.WriteString(w, "\n")
	}
	if err := p.tables(w); err != nil || p.Result.HeldOut == nil {
		return err
	}
	io.WriteString(w, "\n")
	return words.Scores(w, p.Result.HeldOut)
}

// tables writes the notes and the tables that describe the records.
func (p *Posterior) tables(w io.Writer) error {
	for i, note := range p.Notes() {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		if _, err := io.WriteString(w, words.Wrap(note)); err != nil {
			return err
		}
	}
	if p.Result.Tables == nil {
		return nil
	}
	if len(p.Notes()) > 0 {
		io.WriteString(w, "\n")
	}
	return words.Tables(w, p.Result.Tables)
}

// Notes returns sentences that should be shown with the posterior.
func (p *Posterior) Notes() []string {
	if p.doubt == "" {
		return p.Result.Notes
	}
	return append([]string{p.doubt}, p.Result.Notes...)
}

func (p *Posterior) table(w io.Writer, ratios bool) error {
	var names []string
	var natural []fit.Natural
	logs := false
	header := []string{"", "mean", "sd", "2.5 %", "97.5 %"}
	if p.Result.NoiseAware != nil {
		header = []string{"", "mean", "data sd", "noise sd", "sd", "2.5 %", "97.5 %"}
	}
	rows := [][]string{header}
	number := words.Number
	for _, m := range p.Marginals {
		names, natural = append(names, m.Name), append(natural, m.Natural)
		name := m.Name
		if m.Log {
			name, logs = "log "+name, true
		}
		row, of := []string{name, number(m.Interval.Mean)}, m.Interval
		if m.NoiseAware != nil {
			of = *m.NoiseAware
			noise := "-"
			if m.NoiseSD != nil {
				noise = number(*m.NoiseSD)
			}
			row = []string{name, number(of.Mean), number(m.Interval.SD), noise}
		}
		rows = append(rows, append(row, number(of.SD), number(of.Lower), number(of.Upper)))
	}
	if err := words.Natural(w, names, natural, nil, ratios); err != nil {
		return err
	}
	fmt.Fprint(w, "\nOn the model's scale:\n\n")
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	if a := p.Result.NoiseAware; a != nil {
		fmt.Fprintf(w, "\nsd and intervals include the privacy noise, by %s; data sd, that of q, does not.\n", a.Method)
	}
	if logs {
		fmt.Fprintln(w, "\nFor a log, mean and sd are of the logarithm and the interval is of the parameter itself.")
	}
	if p.Prior == nil {
		return nil
	}
	fmt.Fprint(w, "\nAgainst the prior, and with other priors, on the model's scale:\n\n")
	return words.AgainstPrior(w, p.Prior)
}
