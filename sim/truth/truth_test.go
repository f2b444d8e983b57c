package truth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

func noClock() float64 { return 0 }

func selected(t *testing.T, selection string) []Cell {
	t.Helper()
	cells, err := Select(Cells(), selection)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

func find(t *testing.T, selection string) *Cell {
	t.Helper()
	return &selected(t, selection)[0]
}

// If two levels occur together in some valid cell, they must do so in the design. No cell may occur
// twice.
func TestEveryPairOccurs(t *testing.T) {
	checkPairs(t, fmt.Sprintf("1-%d", size), factors, size)
	first := size + 2*len(sets) + 1
	checkPairs(t, fmt.Sprintf("%d-%d", first, first+groupSize-1), groupFactors, groupSize)
}

func checkPairs(t *testing.T, selection string, factors []factor, size int) {
	t.Helper()
	all := selected(t, selection)
	if len(all) != size {
		t.Fatalf("%d cells, want %d", len(all), size)
	}
	type pair [4]string
	pairs := func(c *Cell) (out []pair) {
		for i, f := range factors {
			for _, g := range factors[i+1:] {
				out = append(out, pair{f.name, c.Level(f.name), g.name, c.Level(g.name)})
			}
		}
		return out
	}
	has, cells := map[pair]bool{}, map[string]bool{}
	for _, c := range all {
		if !c.possible() {
			t.Errorf("cell %d is not a valid study", c.Number)
		}
		if cells[c.String()] {
			t.Errorf("cell %d is there twice: %s", c.Number, &c)
		}
		cells[c.String()] = true
		for _, p := range pairs(&c) {
			has[p] = true
		}
	}
	each(factors, make(row, 0, len(factors)), func(r row) {
		c := r.cell(factors)
		for _, p := range pairs(&c) {
			if !has[p] {
				has[p] = true
				t.Errorf("no cell has %v", p)
			}
		}
	})
}

func TestSelect(t *testing.T) {
	cells := Cells()
	for selection, want := range map[string]int{"": len(cells), "7": 1, "1-40": 40, "3,5-6": 3, "set!=": 2*len(sets) + len(ofKinds()), "set=adult,epsilon>=3": 1, "records<=200000,set=": size + groupSize + 1 + len(named()), "records<=200000,groups=,set=": size + len(named()), "1-400": size} {
		got, err := Select(cells, selection)
		if err != nil || len(got) != want {
			t.Errorf("%q: %d cells, %v; want %d", selection, len(got), err, want)
		}
	}
	small := selected(t, "1-100,records<=2000,unit=record,family!=robust")
	for _, c := range small {
		if c.Number > 100 || c.Records > 2000 || c.Unit != study.Record || c.Family == "robust" {
			t.Errorf("cell %d is selected: %s", c.Number, &c)
		}
	}
	for _, wrong := range []string{"0", "900", "9-3", "colour=red", "records<=many", "records>=1e9", "x"} {
		if _, err := Select(cells, wrong); err == nil {
			t.Errorf("%q is no selection", wrong)
		}
	}
}

func TestSets(t *testing.T) {
	for _, set := range sets {
		source, err := files.ReadFile("sets/" + set + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		st, err := study.Parse(set, source)
		if err != nil {
			t.Fatal(err)
		}
		if st.Name != set || st.Inference.Solver != study.Scoring {
			t.Errorf("%s: name %q, solver %q", set, st.Name, st.Inference.Solver)
		}
	}
}

func TestWorld(t *testing.T) {
	base := Cell{Family: "logistic", Records: 20_000, Coefficients: 10, Clients: 10, Split: "balanced", Epsilon: 1, Unit: study.Record, Columns: "independent", Bounds: "tight", Scale: "raw"}
	draw := func(change func(*Cell)) *world {
		c := base
		change(&c)
		w, err := c.world(3)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		for _, h := range w.holders {
			n += h.Records.Len()
		}
		if n != c.Records || len(w.holders) != c.Clients || w.test.Len() != heldOut {
			t.Errorf("%s: %d records, %d clients, %d held out", &c, n, len(w.holders), w.test.Len())
		}
		return w
	}
	column := func(r *shard.Records, j int) (values []float64) {
		for i := range r.Len() {
			values = append(values, r.Row(i)[j])
		}
		return values
	}
	last := len(draw(func(*Cell) {}).study.Columns) - 1
	shares := func(w *world) (shares []float64) {
		for _, h := range w.holders {
			shares = append(shares, stat.Mean(column(h.Records, last), nil))
		}
		return shares
	}

	one := draw(func(c *Cell) { c.Clients = 1 }).holders[0].Records
	if m, sd := stat.MeanStdDev(column(one, 2), nil); math.Abs(m/100-1) > .05 || math.Abs(sd/100-1) > .05 {
		t.Errorf("the third column has mean %g and sd %g, want 100 and 100", m, sd)
	}
	one = draw(func(c *Cell) { c.Clients, c.Columns = 1, "correlated" }).holders[0].Records
	if r := stat.Correlation(column(one, 0), column(one, 5), nil); math.Abs(r-shared) > .01 {
		t.Errorf("columns correlate with %g", r)
	}
	one = draw(func(c *Cell) { c.Clients, c.Columns = 1, "rare" }).holders[0].Records
	if p := stat.Mean(column(one, last), nil); p < .004 || p > .03 {
		t.Errorf("a share of %g has the rare outcome", p)
	}
	one = draw(func(c *Cell) { c.Clients, c.Columns = 1, "heavy" }).holders[0].Records
	if k := stat.ExKurtosis(column(one, 0), nil); k < 5 {
		t.Errorf("a heavy column has excess kurtosis %g", k)
	}
	if n := draw(func(c *Cell) { c.Split = "one-large" }).holders[0].Records.Len(); n != 18_000 {
		t.Errorf("the large client has %d records", n)
	}
	if even, sorted := stat.StdDev(shares(draw(func(*Cell) {})), nil), stat.StdDev(shares(draw(func(c *Cell) { c.Split = "labels" })), nil); even > .03 || sorted < .1 {
		t.Errorf("clients' shares of an outcome have sds %g and, if they are to differ, %g", even, sorted)
	}
	if w := draw(func(c *Cell) { c.Split = "heterogeneous" }); w.truth != nil {
		t.Error("records of clients that differ have a truth")
	}
}

// regressions returns the model of a cell, and the regression of each client on its records.
func regressions(t *testing.T, c *Cell, seed uint64) (*fit.Model, []*solver.Regression, *sim.Federation) {
	t.Helper()
	w, err := c.world(seed)
	if err != nil {
		t.Fatal(err)
	}
	f, err := sim.New(w.study, w.holders, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var clients []*solver.Regression
	for _, s := range f.Shards {
		clients = append(clients, f.Protocol.Model().Regression(s))
	}
	return f.Protocol.Model(), clients, f
}

func TestPooledIsExact(t *testing.T) {
	m, clients, f := regressions(t, find(t, "family=linear,records<=2000,coefficients<=10"), 1)
	got := pooledOf(t, m, clients)
	reference, err := sim.NewReference(f.Protocol, f.Shards, nil)
	if err != nil || !reference.Exact {
		t.Fatal(err)
	}
	mean, cov, err := reference.Moments()
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range mean {
		if sd := math.Sqrt(cov.At(i, i)); math.Abs(got.mode[i]-x) > 1e-8*sd || math.Abs(got.cov.At(i, i)-sd*sd) > 1e-8*sd*sd {
			t.Errorf("coordinate %d: %g and variance %g, want %g and %g", i, got.mode[i], got.cov.At(i, i), x, sd*sd)
		}
	}
}

func pooledOf(t *testing.T, m *fit.Model, clients []*solver.Regression) *pooled {
	t.Helper()
	f, err := newPooled(m, clients)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// At the mode, the gradient of the log posterior must be zero, even if steps of Fisher scoring
// overshoot. They do with seed 10026, where the curvature in the dispersion is nearly twice the
// information about it.
func TestPooledIsTheMode(t *testing.T) {
	check := func(c *Cell, seed uint64) {
		m, clients, _ := regressions(t, c, seed)
		f := pooledOf(t, m, clients)
		gradient := make([]float64, m.Dim())
		for _, c := range clients {
			c.AddGradient(gradient, f.mode)
		}
		for i, g := range gradient {
			prior := m.Parameters.Prior(i)
			if off := (g - f.prior[i]*(f.mode[i]-prior.Mean)) * math.Sqrt(f.cov.At(i, i)); math.Abs(off) > 1e-3 {
				t.Errorf("%s: coordinate %d is off by %g sds", c, i, off)
			}
		}
	}
	for family := range models {
		check(find(t, "records<=2000,coefficients<=10,family="+family), 1)
	}
	check(find(t, "1"), 10026)
}

// The ideal must be the pooled posterior if there is no noise, and the prior if there is a lot.
// With one coordinate and a weak prior, its variance must be the pooled variance plus the variance
// of the release.
func TestIdeal(t *testing.T) {
	m, clients, _ := regressions(t, find(t, "family=logistic,records<=2000,coefficients<=10"), 1)
	f := pooledOf(t, m, clients)
	without, err := f.ideal(1e-9)
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := f.ideal(1e9)
	if err != nil {
		t.Fatal(err)
	}
	for i := range without {
		if got, want := without[i], f.cov.At(i, i); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("without noise variance %d is %g, want %g", i, got, want)
		}
		if got, want := nothing[i], 1/f.prior[i]; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("with noise alone variance %d is %g, want %g", i, got, want)
		}
	}
	const h, p, sd, bias = 50, 1e-9, 3, .7
	one := &pooled{information: mat.NewSymDense(1, []float64{h}), prior: []float64{p}}
	unit := math.Sqrt(h + p)
	variance, err := one.afterRelease(mat.NewTriDense(1, mat.Lower, []float64{unit}), sd, []float64{bias})
	if err != nil {
		t.Fatal(err)
	}
	if want := 1./h + unit*unit*(sd*sd+bias*bias)/(h*h); math.Abs(variance[0]/want-1) > 1e-6 {
		t.Errorf("variance %g, want %g", variance[0], want)
	}
}

// A cell whose line was cut off must be simulated again. The number of jobs must not affect the
// results.
func TestRunContinues(t *testing.T) {
	cells := selected(t, "records=400,coefficients=3,unit=record,epsilon<=1")
	cells = cells[:3]
	run := func(out string, jobs int, cells []Cell) (played int) {
		t.Helper()
		err := Run(context.Background(), Options{
			Cells: cells, Replications: 1, Seed: 1, Jobs: jobs, Out: out, Clock: noClock,
			Progress: func(int, int, *Cell) { played++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		return played
	}
	read := func(path string) []byte {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(content, []byte("\n"))
		slices.SortFunc(lines, bytes.Compare)
		return bytes.Join(lines, nil)
	}
	whole, parts := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	run(whole, 3, cells)
	run(parts, 1, cells[:2])
	if err := os.Truncate(parts, int64(len(read(parts))-5)); err != nil {
		t.Fatal(err)
	}
	if n := run(parts, 1, cells); n != 2 {
		t.Errorf("%d cells were played after the stop, want 2", n)
	}
	if n := run(parts, 1, cells); n != 0 {
		t.Errorf("%d cells were played again", n)
	}
	if a, b := read(whole), read(parts); !bytes.Equal(a, b) {
		t.Errorf("results differ:\n%s\n%s", a, b)
	}
	outcomes, err := Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	if of := Of(outcomes, cells[:1]); len(of) != 1 || of[0].Cell != cells[0] {
		t.Errorf("outcomes of the first cell: %v", of)
	}
}

// If a cell has two outcomes, it must count only once.
func TestVerdict(t *testing.T) {
	share := func(x float64) *float64 { return &x }
	replication := func(truth *float64, pooled float64) *Replication {
		return &Replication{Measures: Measures{Truth: truth, Pooled: pooled, Prior: .9, Width: 1.5, Ideal: .1}, LogPrior: -1, Log: -.5}
	}
	all := Summarise([]Outcome{
		{Cell: Cell{Number: 1, Family: "logistic", Unit: study.Record}, Replications: []*Replication{replication(share(.8), .88), replication(share(1), .92)}},
		{Cell: Cell{Number: 2, Family: "poisson", Unit: study.Record}, Replications: []*Replication{replication(nil, .31), replication(nil, .30)}},
		{Cell: Cell{Number: 2, Family: "poisson", Unit: study.Record}, Seed: 2, Replications: []*Replication{replication(nil, .29), {Failed: "overflow"}}},
	})
	if len(all) != 2 || math.Abs(all[0].Truth-.9) > 1e-12 || all[1].Replications != 4 || all[1].Failed != 1 {
		t.Fatalf("summaries: %+v", all)
	}
	// The mean of .31, .30 and .29 is .30, with standard error .01/√3. The upper end is 9.925
	// standard errors above it: the 99.5 % quantile of the t distribution with 2 degrees of
	// freedom.
	if want := .3 + 9.924843*.01/math.Sqrt(3); math.Abs(all[1].Upper-want) > 1e-6 {
		t.Errorf("upper end %g, want %g", all[1].Upper, want)
	}
	var b strings.Builder
	if err := Write(&b, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 cells, 6 replications", "within [0.87, 0.94]: 1 of 2", "of the truth within [0.87, 0.94]: 1 of 1", "wholly below 0.80: 1 of 2", "1 of 4 failed: overflow"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// In a few cheap cells, 90 % intervals must on average contain at least 85 % of the pooled
// posterior's probability. No prediction may be worse than the prior's.
func TestBank(t *testing.T) {
	cells := selected(t, "records=2000,coefficients<=10,unit=record,family!=poisson-overdispersed")
	var outcomes []Outcome
	for _, c := range cells[:6] {
		line, err := c.line(context.Background(), &Options{Replications: 1, Seed: 1, Clock: noClock})
		if err != nil {
			t.Fatal(err)
		}
		var o Outcome
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, o)
	}
	var pooled []float64
	for _, s := range Summarise(outcomes) {
		t.Logf("%d %s: pooled %.2f, width %.2f", s.Number, &s.Cell, s.Pooled, s.Width)
		if s.Failed > 0 || s.Gain < -worse {
			t.Errorf("cell %d: failed %q, log score above the prior's %g", s.Number, s.Reason, s.Gain)
		}
		pooled = append(pooled, s.Pooled)
	}
	if m := mean(pooled); m < .85 {
		t.Errorf("intervals of 90 %% hold %.2f of the pooled posterior", m)
	}
}

// With almost no noise, the sds must equal those of the ideal release, and the posterior mean must
// equal the pooled mean, up to the errors of the approximations.
func TestBankOfGroups(t *testing.T) {
	cell := find(t, "groups=5,epsilon=off,family=linear")
	cell.Records = 2000
	r, err := cell.Play(context.Background(), 1, noClock)
	if err != nil || r.Failed != "" {
		t.Fatal(err, r.Failed)
	}
	for _, kind := range Kinds {
		most := 1.1
		if kind == "spreads" {
			most = 1.2 // the spread of five groups has a posterior with a long right tail, which the few points of the quadrature rule represent poorly
		}
		if m := r.Kinds[kind]; m.Width < .9 || m.Width > most || m.RMS > .3 || m.Pooled < .85 {
			t.Errorf("%s: width %.2f, %.2f of the pooled, rms %.2f, pooled %.2f", kind, m.Width, m.WidthPooled, m.RMS, m.Pooled)
		}
	}
	if r.Spread == nil || *r.Spread <= 0 {
		t.Errorf("spread %v", r.Spread)
	}
}

// Every kind of records must have a valid study. In measured and counted kinds, few outcomes may be
// beyond their bounds.
func TestKinds(t *testing.T) {
	for _, c := range ofKinds() {
		w, err := c.world(1)
		if err != nil {
			t.Fatalf("%s: %v", &c, err)
		}
		records, at := 0, w.test.Len()
		for _, h := range w.holders {
			records += h.Records.Len()
		}
		if records != c.Records || len(w.holders) != c.Clients || at != heldOut {
			t.Errorf("%s: %d records of %d clients, %d held out", &c, records, len(w.holders), at)
		}
		y := w.study.Columns[len(w.study.Columns)-1]
		if y.Type != study.Numeric {
			continue
		}
		beyond := 0
		for i := range w.test.Len() {
			if v := w.test.Row(i)[len(w.study.Columns)-1]; v == y.High || v == y.Low && y.Low != 0 {
				beyond++
			}
		}
		if beyond > heldOut/20 {
			t.Errorf("%s: %d of %d outcomes are at a bound", &c, beyond, heldOut)
		}
	}
}

// If the noise of a linear model is much smaller than its prior allows, the points must still stay
// near the mode. When leastSecant in package scoring was smaller, some studies ended hundreds of
// pooled sds away.
func TestSmallNoise(t *testing.T) {
	for _, c := range Cells() {
		if c.Set != "small-noise" || c.Records != 6000 || c.Epsilon != 2 || c.Unit != study.Record {
			continue
		}
		for seed := range uint64(4) {
			r, err := c.Play(t.Context(), 10+seed, func() float64 { return 0 })
			if err != nil {
				t.Fatal(err)
			}
			if r.Failed != "" || r.Log < r.LogPooled-1 {
				t.Errorf("seed %d: log score %.2f, of the pooled fit %.2f %s", 10+seed, r.Log, r.LogPooled, r.Failed)
			}
		}
	}
}

// With a rare class, predictions must be about as good as the pooled fit's. If the method treated
// the released curvature as exact everywhere, its points would miss the mode, and predictions with
// these seeds would lose .19 to 1.4 of log score.
func TestRareClass(t *testing.T) {
	for _, c := range Cells() {
		if c.Set != "rare-class" || c.Records != 6000 || c.Epsilon != 2 {
			continue
		}
		for _, seed := range []uint64{1, 3, 7} {
			r, err := c.Play(t.Context(), seed, func() float64 { return 0 })
			if err != nil {
				t.Fatal(err)
			}
			if r.Failed != "" || r.Log < r.LogPooled-.05 {
				t.Errorf("seed %d: log score %.2f, of the pooled fit %.2f %s", seed, r.Log, r.LogPooled, r.Failed)
			}
		}
	}
}
