package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"fedpvi/coordinator/admin"
	"fedpvi/dpmech"
	"fedpvi/internal/cli"
	"fedpvi/pvi/session"
	"fedpvi/pvi/words"
)

type posteriorCommand struct {
	studyArg
	jsonFlag
	CSV     bool `name:"csv" help:"Print CSV."`
	Tables  bool `help:"With --csv: the tables that describe the records, in place of the posterior."`
	Draws   int  `help:"Print this many independent draws from the posterior, as CSV." placeholder:"N"`
	Natural bool `help:"With --draws: in natural units, not on the model's scale."`
	Arrived bool `help:"End with exit code 8 unless the rounds have converged, which means that the last sums agree with the posterior."`
	Ratios  bool `help:"In the table: odds ratios and rate ratios, in place of their logarithms."`
}

func (posteriorCommand) Help() string {
	return `Examples:

  coordinator posterior
  coordinator posterior --csv > posterior.csv
  coordinator posterior --ratios
  coordinator posterior --draws 4000 --natural > draws.csv

The first table is in the units of the study's columns, the second on the scale on which the
model is estimated. The intervals hold 95 %. For a noise-aware study the second table shows
the standard deviation from the records and the part from the privacy noise separately;
intervals and draws include both. A study with intervals = "none" has only point estimates.
The quantities that a program generates from its parameters come after the parameters.`
}

func (c *posteriorCommand) Validate() error {
	switch {
	case c.Draws < 0:
		return fmt.Errorf("--draws %d: give a number of at least 1", c.Draws)
	case c.JSON && c.CSV, c.Draws > 0 && (c.JSON || c.CSV):
		return errors.New("give one of --json, --csv and --draws")
	case c.Natural && c.Draws == 0:
		return errors.New("--natural needs --draws: the other outputs have natural units anyway")
	case c.Tables && !c.CSV:
		return errors.New("--tables needs --csv: the other outputs have the tables anyway")
	case c.Ratios && (c.JSON || c.CSV || c.Draws > 0):
		return errors.New("--ratios changes only the table: in other outputs, a ratio is the exponential of a value in natural units")
	}
	return nil
}

func (c *posteriorCommand) Run(e *environment) error {
	return e.with(func(api admin.API) error {
		p, err := api.Posterior(e.ctx, c.Study)
		if err != nil {
			return err
		}
		if err := c.print(p); err != nil {
			return err
		}
		if c.Arrived && (p.Result.Arrived == nil || !*p.Result.Arrived) {
			return errNotArrived
		}
		return nil
	})
}

var errNotArrived = errors.New("the rounds have not converged, or the solver has no check of convergence: read the notes beside the posterior")

func (c *posteriorCommand) print(p *session.Posterior) error {
	switch {
	case c.JSON:
		return cli.PrintJSON(p)
	case c.Tables && p.Result.Tables == nil:
		return errors.New("the study has no tables that describe the records: they need [describe] in the study, and an accepted first round")
	case c.Tables:
		return words.TablesCSV(os.Stdout, p.Result.Tables)
	case p.Result.Names == nil && (c.CSV || c.Draws > 0):
		return errors.New("the study has no model, so it has no posterior: coordinator posterior --csv --tables prints its tables")
	case p.Estimates != nil && c.CSV:
		return estimatesCSV(os.Stdout, p)
	case p.Estimates != nil && c.Draws > 0:
		return errors.New("the study reports only point estimates, so it has no draws: its method has no honest intervals")
	case c.CSV:
		return posteriorCSV(os.Stdout, p)
	case c.Draws > 0:
		return drawsCSV(os.Stdout, p, c.Draws, c.Natural)
	}
	r := p.Result
	if r.Names == nil {
		fmt.Printf("Tables of study %s, %d clients\n\n", r.Study, len(r.Clients))
	} else {
		fmt.Printf("Posterior of study %s, %d clients, λ moved in %d of %d outcomes\n\n", r.Study, len(r.Clients), r.Accepted, r.Outcomes)
	}
	return p.Table(os.Stdout, c.Ratios)
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func posteriorCSV(w io.Writer, p *session.Posterior) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"name", "log", "mean", "sd", "q5", "q95", "aware_mean", "aware_sd", "aware_q5", "aware_q95", "noise_sd",
		"q2.5", "q97.5", "aware_q2.5", "aware_q97.5", "natural_mean", "natural_sd", "natural_low", "natural_high", "unit",
	}}
	for _, m := range p.Marginals {
		row := []string{
			m.Name, strconv.FormatBool(m.Log), exact(m.Interval.Mean), exact(m.Interval.SD), exact(m.Q5), exact(m.Q95), "", "", "", "", "",
			exact(m.Lower), exact(m.Upper), "", "",
			exact(m.Natural.Mean), exact(m.Natural.SD), exact(m.Low), exact(m.High), m.Unit,
		}
		if a := m.NoiseAware; a != nil {
			copy(row[6:], []string{exact(a.Mean), exact(a.SD), exact(a.Q5), exact(a.Q95)})
			copy(row[13:], []string{exact(a.Lower), exact(a.Upper)})
		}
		if m.NoiseSD != nil {
			row[10] = exact(*m.NoiseSD)
		}
		rows = append(rows, row)
	}
	for _, q := range p.Quantities {
		row := make([]string, len(rows[0]))
		if row[0], row[1] = q.Name, "false"; q.Spread != nil {
			mean, sd, low, high := exact(q.Mean), exact(q.SD), exact(q.Lower), exact(q.Upper)
			copy(row[2:], []string{mean, sd, exact(q.Q5), exact(q.Q95)})
			copy(row[11:], []string{low, high})
			copy(row[15:], []string{mean, sd, low, high, q.Unit})
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

func estimatesCSV(w io.Writer, p *session.Posterior) error {
	rows := [][]string{{"name", "estimate", "natural_estimate", "unit"}}
	for _, e := range p.Estimates {
		rows = append(rows, []string{e.Name, exact(e.Value), exact(e.Natural), e.Unit})
	}
	for _, q := range p.Quantities {
		value := ""
		if q.Estimate != nil {
			value = exact(*q.Estimate)
		}
		rows = append(rows, []string{q.Name, value, value, q.Unit})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// drawsCSV writes independent draws of the parameters, one per row. They are from the noise-aware
// posterior if there is one, and otherwise from the posterior.
func drawsCSV(w io.Writer, p *session.Posterior, n int, natural bool) error {
	mean, factor, err := factored(p)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	quantities := p.Generator()
	generated := make([]float64, len(quantities.Names()))
	row := make([]string, 0, len(mean)+len(generated))
	for _, m := range p.Marginals {
		row = append(row, m.Name)
	}
	row = append(row, quantities.Names()...)
	if err := out.Write(row); err != nil {
		return err
	}
	source := dpmech.NewStream()
	defer source.Wipe()
	z, theta := make([]float64, len(mean)), make([]float64, len(mean))
	for k := range n {
		for i := range z {
			z[i] = normal(source)
		}
		for i := range theta {
			theta[i] = mean[i]
			for j := range i + 1 {
				theta[i] += factor.At(i, j) * z[j]
			}
		}
		quantities.Shared(generated, theta, k)
		draw := theta
		if natural {
			draw = z // draw can use the memory of z, which is not needed any more
			p.Units.Map(draw, theta)
		}
		for i := range p.Marginals {
			row[i] = exact(p.Units[i].Back(draw[i]))
		}
		for i, x := range generated {
			row[len(mean)+i] = exact(x)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// factored returns the mean of a posterior and the lower Cholesky factor of its covariance.
func factored(p *session.Posterior) ([]float64, mat.Matrix, error) {
	mean, cov := p.Moments()
	if independent, ok := cov.(*mat.DiagDense); ok {
		for i := range mean {
			independent.SetDiag(i, math.Sqrt(independent.At(i, i)))
		}
		return mean, independent, nil
	}
	var c mat.Cholesky
	if !c.Factorize(cov) {
		return nil, nil, errors.New("the covariance of the posterior is not positive definite")
	}
	var l mat.TriDense
	c.LTo(&l)
	return mean, &l, nil
}

// normal returns a standard normal draw. It inverts the distribution function.
func normal(s *dpmech.Stream) float64 {
	u := (float64(s.Uint64()>>11) + 0.5) / (1 << 53) // uniform between 0 and 1, exclusive
	return math.Sqrt2 * math.Erfinv(2*u-1)
}
