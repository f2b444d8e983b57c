package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"fedpvi/pvi/gaussian"
	"fedpvi/sim"
)

// Draws writes n independent draws from the posterior as the CSV file of a CmdStan chain. ArviZ,
// rstan and cmdstanr can read this format, and through cmdstanr also posterior and bayesplot.
// The column lp__ is the log density of the draw.
func Draws(w io.Writer, r *sim.Result, family gaussian.Family, chain, n int, normal func() float64) error {
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
	for _, line := range append(header, r.Notes...) {
		fmt.Fprintf(out, "# %s\n", line)
	}
	fmt.Fprintf(out, "lp__,accept_stat__,%s\n", strings.Join(stanNames(r), ","))
	sample, err := family.Sampler(r.Natural)
	if err != nil {
		return err
	}
	theta := make([]float64, family.Dim())
	for range n {
		sample(theta, normal)
		lp, err := family.LogDensity(r.Natural, theta)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%.10g,1", lp)
		for _, x := range theta {
			fmt.Fprintf(out, ",%.10g", x)
		}
		out.WriteByte('\n')
	}
	fmt.Fprint(out, "# \n#  Elapsed Time: 0 seconds (Warm-up)\n#                0 seconds (Sampling)\n#                0 seconds (Total)\n# \n")
	return out.Flush()
}

// stanNames returns distinct names of Stan variables for coefficients. A name consists of
// letters, digits and underscores, and does not end in two underscores.
func stanNames(r *sim.Result) []string {
	seen := map[string]bool{}
	var names []string
	for _, m := range r.Posterior {
		name := strings.ReplaceAll(m.Name, ":", "_x_")
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
