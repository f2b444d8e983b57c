package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
	"fedpvi/sim"
)

// shown is a result together with the posterior that reports show: the noise-aware posterior if
// there is one, and otherwise q.
type shown struct {
	*sim.Result
	family  gaussian.Family
	natural []float64 // natural parameters of the posterior, in the order that the family defines
}

// newShown returns the result r with the posterior that reports show. q is in the given family.
func newShown(r *sim.Result, family gaussian.Family) (*shown, error) {
	a := r.NoiseAware
	if a == nil {
		return &shown{r, family, r.Natural}, nil
	}
	full := gaussian.Full(len(a.Mean))
	s := &shown{r, full, make([]float64, full.Size())}
	return s, full.FromMoments(s.natural, a.Mean, mat.NewSymDense(len(a.Mean), slices.Concat(a.Covariance...)))
}

func (s *shown) naturalCovariance() ([][]float64, error) {
	_, cov, err := s.family.Moments(s.natural)
	if err != nil {
		return nil, err
	}
	natural := s.Units.Covariance(cov)
	rows := make([][]float64, len(s.Units))
	for i := range rows {
		rows[i] = mat.Row(nil, i, natural)
	}
	return rows, nil
}

// draws writes n independent posterior draws in the CSV format of a CmdStan chain, which ArviZ,
// rstan and cmdstanr read. The column lp__ is the log density on the model's scale.
func (s *shown) draws(w io.Writer, natural bool, chain, n int, normal func() float64) error {
	r := s.Result
	out := bufio.NewWriter(w)
	header := []string{
		"stan_version_major = 2",
		"stan_version_minor = 36",
		"stan_version_patch = 0",
		"model = " + strings.ReplaceAll(r.Study, "-", "_") + "_model",
		"method = sample (Default)",
		"  sample",
		fmt.Sprintf("    num_samples = %d", n),
		"    num_warmup = 0",
		"    save_warmup = 0 (Default)",
		"    thin = 1 (Default)",
		"    adapt",
		"      engaged = 0",
		"    algorithm = fixed_param",
		fmt.Sprintf("id = %d", chain),
		"random",
		fmt.Sprintf("  seed = %d", r.Seed),
		"these are independent draws from a variational posterior, made by fedpvi",
	}
	names := stanNames(r, r.Generator.Names())
	generated := make([]float64, len(r.Generator.Names()))
	if natural {
		for i, row := range s.Units {
			header = append(header, fmt.Sprintf("%s: %s", names[i], row.Unit))
		}
	}
	for _, line := range append(header, r.Notes...) {
		fmt.Fprintf(out, "# %s\n", line)
	}
	fmt.Fprintf(out, "lp__,accept_stat__,%s\n", strings.Join(names, ","))
	sample, err := s.family.Sampler(s.natural)
	if err != nil {
		return err
	}
	density, err := s.family.LogDensity(s.natural)
	if err != nil {
		return err
	}
	theta, units := make([]float64, s.family.Dim()), make([]float64, s.family.Dim())
	for k := range n {
		sample(theta, normal)
		fmt.Fprintf(out, "%.10g,1", density(theta))
		draw := theta
		if natural {
			draw = units
			s.Units.Map(draw, theta)
		}
		for i, x := range draw {
			if natural {
				x = s.Units[i].Back(x)
			}
			fmt.Fprintf(out, ",%.10g", x)
		}
		r.Generator.Shared(generated, theta, chain*n+k)
		for _, x := range generated {
			fmt.Fprintf(out, ",%.10g", x)
		}
		out.WriteByte('\n')
	}
	fmt.Fprint(out, "# \n#  Elapsed Time: 0 seconds (Warm-up)\n#                0 seconds (Sampling)\n#                0 seconds (Total)\n# \n")
	return out.Flush()
}

// stanNames returns distinct Stan variable names for the coefficients and the generated quantities.
// They consist of letters, digits and underscores, and do not end in two underscores.
func stanNames(r *sim.Result, generated []string) []string {
	seen := map[string]bool{}
	var own, names []string
	for _, m := range r.Posterior {
		own = append(own, m.Name)
	}
	for _, name := range append(own, generated...) {
		name = strings.ReplaceAll(name, ":", "_x_")
		name = strings.Map(func(c rune) rune {
			if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
				return c
			}
			return '_'
		}, name)
		name = strings.Trim(name, "_")
		if name == "" || '0' <= name[0] && name[0] <= '9' {
			name = "b_" + name
		}
		for base, n := name, 2; seen[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		seen[name] = true
		names = append(names, name)
	}
	return names
}
