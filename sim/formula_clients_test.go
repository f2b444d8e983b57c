package sim

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/gpu"
	"fedpvi/internal/special"
	"fedpvi/internal/testing/formulas"
	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

var (
	studiesOfFormula = flag.Uint64("studies", 3, "with FEDPVI_LONG, number of studies of each formula of the bank")
	firstStudy       = flag.Uint64("first", 30_000, "seed of the first of these studies")
)

// holding collects results of several studies of one formula. truths has, for each study, the share
// of 90 % intervals that contain the true coefficient. draws has the mean probability of a 90 %
// interval under the pooled posterior, which is approximated by a normal distribution at its mode.
// The other fields are sums over the coordinates of all studies.
type holding struct {
	truths, draws []float64
	// squares adds up ((mean − mode)/sd)² and width adds up log(sd/pooled sd), over pooled terms.
	// The mode and the pooled sd belong to the normal approximation of the pooled posterior.
	squares, width, pooled float64
}

// below reports whether the mean of shares is below 0.8 by more than half the width of its 99 %
// confidence interval. Each element is the mean of one study, because the coordinates within a
// study are not independent.
func below(shares []float64) bool {
	if len(shares) < 2 {
		return false
	}
	mean, sd := stat.MeanStdDev(shares, nil)
	n := float64(len(shares))
	return mean+distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.995)*sd/math.Sqrt(n) < 0.8
}

// forClients reports whether the intervals of a formula are possible when the privacy unit is the
// client. Effects of sites, curves s(x) and monotone effects mo() rule them out.
func forClients(f formulas.Formula) bool {
	return !strings.Contains(f.Text, "site") && !strings.Contains(f.Text, "s(x") && !strings.Contains(f.Text, "mo(")
}

// add runs one study of a formula and adds its results. The study has 100 clients with 40 records
// each, ε = 4 for each client, and defaults otherwise.
func (h *holding) add(t *testing.T, f formulas.Formula, seed uint64) {
	t.Helper()
	const clients, each, z90 = 100, 40, 1.6448536
	st, err := study.Parse("f.toml", []byte(f.Study(fmt.Sprintf(
		"study = { version = 2, name = \"f\" }\nprivacy = { unit = \"client\", epsilon = 4.0, delta = 1e-5 }\ninference = {}\nfederation = { nominal_records = %d, colluders = 0 }\n", each))))
	if err != nil {
		t.Fatal(err)
	}
	truth, rows := f.Drawn(clients*each, seed)
	var holders []Holder
	all := new(shard.Records)
	for m := range clients {
		own := new(shard.Records)
		for _, row := range rows[m*each : (m+1)*each] {
			own.Append(row)
			all.Append(row)
		}
		holders = append(holders, Holder{ID: pvi.ClientID(fmt.Sprintf("client-%03d", m)), Records: own})
	}
	federation := federate(t, st, holders, seed, 1)
	finish(t, federation)
	mean, cov := moments(t, federation.Protocol.Family(), federation.Server.Posterior())
	model := federation.Protocol.Model()
	var theta []float64
	for _, name := range model.Names() {
		x, ok := truth[name]
		if !ok {
			t.Fatalf("the bank does not draw %s", name)
		}
		theta = append(theta, x)
	}
	mode, spread := modeOf(t, model, shard.Design(st, all), theta)
	var held, draws float64
	for i, m := range mean {
		sd, own := math.Sqrt(cov.At(i, i)), math.Sqrt(spread.At(i, i))
		if math.Abs(m-theta[i]) < z90*sd {
			held += 1 / float64(len(mean))
		}
		draws += (special.Phi((m+z90*sd-mode[i])/own) - special.Phi((m-z90*sd-mode[i])/own)) / float64(len(mean))
		h.squares += (m - mode[i]) * (m - mode[i]) / (sd * sd)
		h.width += math.Log(sd / own)
		h.pooled++
	}
	h.truths, h.draws = append(h.truths, held), append(h.draws, draws)
}

// modeOf returns the mode of the posterior given records, and the inverse of the curvature there.
// It applies Newton's method, beginning at from, and takes second derivatives from differences of
// gradients.
func modeOf(t *testing.T, m *fit.Model, records *shard.Shard, from []float64) ([]float64, *mat.SymDense) {
	t.Helper()
	table, err := m.Load(records)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := gpu.CPU{}.Compile(m.Program(), table)
	if err != nil {
		t.Fatal(err)
	}
	gradient := func(theta []float64) []float64 {
		g := make([]float64, len(theta))
		if _, err := engine.Sum(g, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}); err != nil {
			t.Fatal(err)
		}
		m.Program().LogPrior(theta, g)
		return g
	}
	theta, cov := slices.Clone(from), mat.NewSymDense(len(from), nil)
	for range 30 {
		curvature := mat.NewSymDense(len(from), nil)
		for i := range theta {
			up, down := slices.Clone(theta), slices.Clone(theta)
			up[i] += 1e-5
			down[i] -= 1e-5
			a, b := gradient(up), gradient(down)
			for j := range i + 1 {
				curvature.SetSym(i, j, (b[j]-a[j])/2e-5)
			}
		}
		var root mat.Cholesky
		if !root.Factorize(curvature) || root.InverseTo(cov) != nil {
			t.Fatal("the curvature of the pooled records is not positive definite")
		}
		var move mat.VecDense
		move.MulVec(cov, mat.NewVecDense(len(theta), gradient(theta)))
		for i := range theta {
			theta[i] += move.AtVec(i)
		}
	}
	return theta, cov
}

// With FEDPVI_LONG, the test runs all formulas in the bank that have intervals when whole clients
// are protected, and prints a table.
func TestFormulasOfClientsHoldTheTruth(t *testing.T) {
	long := long()
	studies := *studiesOfFormula
	if !long {
		slow(t)
		studies = 1
	}
	var truths, draws []float64
	for _, f := range formulas.Bank {
		if !forClients(f) || !long && f.Name != "gamma" {
			continue
		}
		var h holding
		for k := range studies {
			h.add(t, f, *firstStudy+k)
		}
		rms, width := math.Sqrt(h.squares/h.pooled), math.Exp(h.width/h.pooled)
		fmt.Printf("| `%s` | `%s` | %.2f | %.2f | %.2f | %.1f |\n", strings.ReplaceAll(f.Text, "|", `\|`), f.Family, stat.Mean(h.truths, nil), stat.Mean(h.draws, nil), rms, width)
		truths, draws = append(truths, stat.Mean(h.truths, nil)), append(draws, stat.Mean(h.draws, nil))
		if below(h.truths) || below(h.draws) {
			t.Errorf("%s: intervals of 90 %% hold %.2f of the truths and %.2f of draws of the pooled posterior", f.Name, stat.Mean(h.truths, nil), stat.Mean(h.draws, nil))
		}
	}
	least := .87
	if !long {
		least = .6 // at least three of five coefficients
	}
	for of, shares := range map[string][]float64{"truths": truths, "draws of pooled posteriors": draws} {
		if mean := stat.Mean(shares, nil); mean < least {
			t.Errorf("intervals of 90 %% hold %.3f of %s, as a mean over %d formulas", mean, of, len(shares))
		}
	}
}
