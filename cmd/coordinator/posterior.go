package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/dpmech"
	"fedpvi/internal/cli"
)

type posteriorCommand struct {
	studyArg
	jsonFlag
	CSV   bool `name:"csv" help:"Print CSV."`
	Draws int  `help:"Print this many independent draws from the posterior, as CSV." placeholder:"N"`
}

func (posteriorCommand) Help() string {
	return `Examples:

  coordinator posterior
  coordinator posterior --csv > posterior.csv
  coordinator posterior --draws 4000 > draws.csv

The intervals hold 90 %. For a noise-aware study the table shows the standard deviation from
the records and the part from the privacy noise separately; intervals and draws include both.`
}

func (c *posteriorCommand) Validate() error {
	switch {
	case c.Draws < 0:
		return fmt.Errorf("--draws %d: give a number of at least 1", c.Draws)
	case c.JSON && c.CSV, c.Draws > 0 && (c.JSON || c.CSV):
		return errors.New("give one of --json, --csv and --draws")
	}
	return nil
}

func (c *posteriorCommand) Run(e *environment) error {
	return e.with(func(api admin.API) error {
		p, err := api.Posterior(e.ctx, c.Study)
		if err != nil {
			return err
		}
		switch {
		case c.JSON:
			return cli.PrintJSON(p)
		case c.CSV:
			return posteriorCSV(os.Stdout, p)
		case c.Draws > 0:
			return drawsCSV(os.Stdout, p, c.Draws)
		}
		return posteriorTable(os.Stdout, p)
	})
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func posteriorTable(w io.Writer, p *coordinator.Posterior) error {
	r := p.Result
	fmt.Fprintf(w, "Posterior of study %s, %d clients, λ moved in %d of %d outcomes\n\n", r.Study, len(r.Clients), r.Accepted, r.Outcomes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "\tmean\tsd\t5 %\t95 %\t"
	if r.NoiseAware != nil {
		header = "\tmean\tdata sd\tnoise sd\tsd\t5 %\t95 %\t"
	}
	fmt.Fprintln(t, header)
	logs := false
	for _, m := range p.Marginals {
		name := m.Name
		if m.Log {
			name, logs = "log "+name, true
		}
		if a := m.NoiseAware; a != nil {
			noise := "-"
			if m.NoiseSD != nil {
				noise = number(*m.NoiseSD)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, number(a.Mean), number(m.SD), noise, number(a.SD), number(a.Lower), number(a.Upper))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", name, number(m.Mean), number(m.SD), number(m.Lower), number(m.Upper))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if logs {
		fmt.Fprintln(w, "\nFor a log, mean and sd are of the logarithm and the interval is of the parameter itself.")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	return nil
}

func posteriorCSV(w io.Writer, p *coordinator.Posterior) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"name", "log", "mean", "sd", "q5", "q95", "aware_mean", "aware_sd", "aware_q5", "aware_q95", "noise_sd"}}
	for _, m := range p.Marginals {
		row := []string{m.Name, strconv.FormatBool(m.Log), exact(m.Mean), exact(m.SD), exact(m.Lower), exact(m.Upper), "", "", "", "", ""}
		if a := m.NoiseAware; a != nil {
			copy(row[6:], []string{exact(a.Mean), exact(a.SD), exact(a.Lower), exact(a.Upper)})
		}
		if m.NoiseSD != nil {
			row[10] = exact(*m.NoiseSD)
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// drawsCSV writes independent draws of the parameters from the posterior, one draw per row. It
// draws from the noise-aware posterior if the study has one.
func drawsCSV(w io.Writer, p *coordinator.Posterior, n int) error {
	mean, factor, err := factored(p)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	row := make([]string, len(mean))
	for i, m := range p.Marginals {
		row[i] = m.Name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	source := dpmech.NewStream()
	defer source.Wipe()
	z := make([]float64, len(mean))
	for range n {
		for i := range z {
			z[i] = normal(source)
		}
		for i, m := range p.Marginals {
			x := mean[i]
			for j := range i + 1 {
				x += factor.At(i, j) * z[j]
			}
			if m.Log {
				x = math.Exp(x)
			}
			row[i] = exact(x)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// factored returns the mean of a posterior, and the lower triangular Cholesky factor of its
// covariance. It uses the noise-aware posterior if there is one.
func factored(p *coordinator.Posterior) ([]float64, mat.Matrix, error) {
	mean, sd, rows := p.Result.Mean, p.Result.SD, p.Result.Covariance
	if a := p.Result.NoiseAware; a != nil {
		mean, sd, rows = a.Mean, a.SD, a.Covariance
	}
	if rows == nil {
		return mean, mat.NewDiagDense(len(sd), sd), nil
	}
	cov := mat.NewSymDense(len(rows), nil)
	for i, row := range rows {
		for j := range i + 1 {
			cov.SetSym(i, j, row[j])
		}
	}
	var c mat.Cholesky
	if !c.Factorize(cov) {
		return nil, nil, errors.New("the covariance of the posterior is not positive definite")
	}
	var l mat.TriDense
	c.LTo(&l)
	return mean, &l, nil
}

// normal returns a standard normal draw, by inversion of the distribution function.
func normal(s *dpmech.Stream) float64 {
	u := (float64(s.Uint64()>>11) + 0.5) / (1 << 53) // between 0 and 1
	return math.Sqrt2 * math.Erfinv(2*u-1)
}
