package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"

	"fedpvi/internal/cli"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// two is a result whose posterior has two coefficients, with means 1 and −2 and unit variances.
var two = sim.Result{
	Study: "two-slopes", Seed: 3, Family: "full", Natural: []float64{1, -2, 1, 0, 1},
	Posterior:  []sim.Marginal{{Name: "x", Mean: 1, SD: 1, Lower: -1, Upper: 3}, {Name: "sex[m]:age", Mean: -2, SD: 1, Lower: -4, Upper: 0}},
	NonPrivate: []sim.Marginal{{Name: "x", Mean: 1.1, SD: .1, Lower: .9, Upper: 1.3}, {Name: "sex[m]:age", Mean: -2, SD: .1, Lower: -2.2, Upper: -1.8}},
	Units:      fit.Units{{From: []int{0, 1}, Weights: []float64{2, -3}, Shift: 5, Unit: "mmHg"}, {From: []int{1}, Weights: []float64{1}, Shift: 2, Log: true}},
}

// The moments may be off by five standard errors.
func TestDraws(t *testing.T) {
	const n = 20_000
	s, err := newShown(&two, gaussian.Full(2))
	if err != nil {
		t.Fatal(err)
	}
	var buf, natural bytes.Buffer
	if err := s.draws(&buf, false, 2, n, rand.New(rand.NewPCG(1, 2)).NormFloat64); err != nil {
		t.Fatal(err)
	}
	if err := s.draws(&natural, true, 2, n, rand.New(rand.NewPCG(1, 2)).NormFloat64); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"# stan_version_major = 2\n", "# method = sample (Default)\n", "#     num_samples = 20000\n", "#     algorithm = fixed_param\n", "# id = 2\n"} {
		if !strings.Contains(buf.String(), line) {
			t.Errorf("the header has no line %q", line)
		}
	}
	if !strings.Contains(natural.String(), "# x: mmHg\n") {
		t.Error("the file in natural units does not name the units")
	}
	column, inUnits := columns(t, &buf, n), columns(t, &natural, n)
	for k := range n {
		for i, want := range []float64{2*column[2][k] - 3*column[3][k] + 5, math.Exp(column[3][k] + 2)} {
			if got := inUnits[2+i][k]; math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
				t.Fatalf("draw %d of coordinate %d in natural units: %g, want %g", k, i, got, want)
			}
		}
	}
	// The bounds are five standard errors. The mean of log q for two unit normals is −1 − log 2π.
	for i, want := range map[int][2]float64{0: {-1 - math.Log(2*math.Pi), 1}, 2: {1, 1}, 3: {-2, 1}} {
		mean, sd := stat.MeanStdDev(column[i], nil)
		if math.Abs(mean-want[0]) > 5*want[1]/math.Sqrt(n) || math.Abs(sd-want[1]) > 5*2*want[1]/math.Sqrt(n) {
			t.Errorf("column %d has mean %g and sd %g, want %g and %g", i, mean, sd, want[0], want[1])
		}
	}
}

// columns reads a CmdStan file with n draws of two coefficients, and returns its columns.
func columns(t *testing.T, file io.Reader, n int) (column [4][]float64) {
	t.Helper()
	reader := csv.NewReader(file)
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil || len(rows) != n+1 {
		t.Fatalf("%d rows, %v; want a header and %d", len(rows), err, n)
	}
	if got := strings.Join(rows[0], " "); got != "lp__ accept_stat__ x sex_m__x_age" {
		t.Errorf("columns %q", got)
	}
	for _, row := range rows[1:] {
		for i, field := range row {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			column[i] = append(column[i], x)
		}
	}
	return column
}

func TestStanNames(t *testing.T) {
	r := new(sim.Result)
	for _, name := range []string{"intercept", "a.b", "a-b", "1st", "sex[?]", "[?]"} {
		r.Posterior = append(r.Posterior, sim.Marginal{Name: name})
	}
	want := "intercept a_b a_b_2 b_1st sex b_ rate_1 a_b_3"
	if got := strings.Join(stanNames(r, []string{"rate[1]", "a_b"}), " "); got != want {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := words.Table(&b, " ", 1, [][]string{{"", "ε", "n"}, {"long", "0.25", "3"}, {"μ", "1", ""}}); err != nil {
		t.Fatal(err)
	}
	want := "          ε  n\n long  0.25  3\n μ        1\n"
	if b.String() != want {
		t.Errorf("table\n%q\nwant\n%q", b.String(), want)
	}
}

func TestWrap(t *testing.T) {
	text := wrap(strings.Repeat("some words ", 40))
	for line := range strings.Lines(text) {
		if len(line) > 93 {
			t.Errorf("line %q is too long", line)
		}
	}
	if got := strings.Join(strings.Fields(text), " "); got != strings.TrimSpace(strings.Repeat("some words ", 40)) {
		t.Error("words were lost")
	}
}

func TestFiguresAreReproducible(t *testing.T) {
	h := new(sim.History)
	for i := range 30 {
		epsilon := float64(i) / 10
		h.Add(sim.Point{Outcome: i, Natural: []float64{1, -2e5 * float64(i), 1 + float64(i), 0, 1}, KL: math.Exp(-float64(i)), Epsilon: &epsilon})
	}
	noisy := describe.Value{IntervalOnly: true, Low: 0, High: .2}
	tables := &describe.Summary{Level: .95, By: "sex", Groups: []describe.Group{{}, {Name: "female"}}, Columns: []describe.Column{{Name: "ward", Labels: []string{"a", "b"}, Parts: []describe.Part{
		{Shares: []describe.Value{{Estimate: .9, Low: .8, High: 1}, noisy}}, {Shares: []describe.Value{noisy, noisy}},
	}}}}
	for name, draw := range map[string]func() (Figure, error){
		"tables":    func() (Figure, error) { return Tables(tables) },
		"intervals": func() (Figure, error) { return Intervals(&two) },
		"rounds": func() (Figure, error) {
			return Rounds(h, gaussian.Full(2), Target{Names: []string{"x", "y"}, Mean: []float64{1, -2}, SD: []float64{3, 1}}, true)
		},
	} {
		first, second := t.TempDir(), t.TempDir()
		for _, folder := range []string{first, second} {
			figure, err := draw()
			if err != nil {
				t.Fatal(err)
			}
			if err := WriteFigure(filepath.Join(folder, name), figure); err != nil {
				t.Fatal(err)
			}
		}
		for suffix, begin := range map[string]string{".svg": "<?xml", ".png": "\x89PNG"} {
			a, err1 := os.ReadFile(filepath.Join(first, name+suffix))
			b, err2 := os.ReadFile(filepath.Join(second, name+suffix))
			if err1 != nil || err2 != nil || !bytes.Equal(a, b) || !strings.HasPrefix(string(a), begin) {
				t.Errorf("%s%s: %d and %d bytes, %v, %v", name, suffix, len(a), len(b), err1, err2)
			}
		}
	}
	if _, err := (Figure{}).Encode("gif"); err == nil {
		t.Error("an unknown format is accepted")
	}
}

func labels(ticks []plot.Tick) string {
	var all []string
	for _, t := range ticks {
		if t.Label != "" {
			all = append(all, t.Label)
		}
	}
	return strings.Join(all, " ")
}

func TestOneValueOnALogarithmicAxis(t *testing.T) {
	for _, x := range []float64{1, 100, 0.3} {
		p := plot.New()
		p.X.Min, p.X.Max = x, x
		LogX(p)
		if !(p.X.Min > 0 && p.X.Min < x && x < p.X.Max && p.X.Max >= 10*p.X.Min) {
			t.Errorf("%g is on an axis from %g to %g", x, p.X.Min, p.X.Max)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		marker    plot.Ticker
		low, high float64
		want      string
	}{
		{logTicks{}, 1, 1000, "1 10 100 1000"},
		{logTicks{}, .5, 40, "0.5 1 2 5 10 20"},
		{logTicks{}, 1e-12, 1e6, "1e-12 1e-9 1e-6 0.001 1 1000 1e6"},
		{logTicks{}, 1e-5, 1e5, "1e-5 0.0001 0.001 0.01 0.1 1 10 100 1000 1e4 1e5"},
		{tidyTicks{}, 0, 3e6, "0 1e6 2e6 3e6"},
		{tidyTicks{}, 0, 3, "0 1 2 3"},
		{arsinhTicks{}, -2, 2, "0 -1 1"},
		{arsinhTicks{}, -12.5, 12.5, "0 -10 10 -1000 1000 -1e5 1e5"},
	} {
		if got := labels(c.marker.Ticks(c.low, c.high)); got != c.want {
			t.Errorf("%T from %g to %g: labels %q, want %q", c.marker, c.low, c.high, got, c.want)
		}
	}
}

func TestReserveLegend(t *testing.T) {
	for _, log := range []bool{false, true} {
		p := NewPanel("t", "x", "y")
		p.Y.Min, p.Y.Max = .01, 100
		if log {
			LogY(p)
		}
		const lines, height = 3, 320
		ReserveLegend(p, lines, height)
		room := (1 - p.Y.Norm(100)) * (height - 80)
		if least := 12.5 * lines; room < least || room > least+10 {
			t.Errorf("log is %v: %.1f points are left for %d lines", log, room, lines)
		}
	}
}

// A run without privacy must not have a panel for ε. A divergence of zero must not make the axis
// linear.
func TestRounds(t *testing.T) {
	h := new(sim.History)
	epsilon := 1.0
	standard := []float64{0, 0, 0, 1, 0, 1, 0, 0, 1}
	for i, kl := range []float64{100, 1, 0} {
		h.Add(sim.Point{Outcome: i, Natural: standard, KL: kl})
	}
	target := Target{Names: []string{"a", "b", "c"}, Mean: []float64{0, 1, -8}, SD: []float64{1, 1, 2}}
	figure, err := Rounds(h, gaussian.Full(3), target, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(figure.Panels) != 2 || figure.Panels[1].X.Label.Text != "outcomes" {
		t.Errorf("%d panels without a promise, want two", len(figure.Panels))
	}
	if _, ok := figure.Panels[1].Y.Scale.(plot.LogScale); !ok {
		t.Error("the axis of the divergence is not logarithmic")
	}
	h.Add(sim.Point{Outcome: 3, Natural: standard, Epsilon: &epsilon})
	if figure, err = Rounds(h, gaussian.Full(3), target, true); err != nil || len(figure.Panels) != 3 {
		t.Errorf("%d panels with a promise, %v; want three", len(figure.Panels), err)
	}
	if figure, err = Rounds(h, gaussian.Full(3), target, false); err != nil || len(figure.Panels) != 2 {
		t.Errorf("%d panels without a divergence, %v; want two", len(figure.Panels), err)
	}
	// q is standard normal, so its means are 0. The third mean of the target is (0 + 8)/2 sds away.
	if top := figure.Panels[0]; math.Abs(math.Sinh(top.Y.Min)+1) > 1e-9 || math.Sinh(top.Y.Max) < 4 {
		t.Errorf("distances from %g to %g, want from −1 to 4", math.Sinh(top.Y.Min), math.Sinh(top.Y.Max))
	}
}

func TestReading(t *testing.T) {
	var b strings.Builder
	if err := words.Reading(&b, shard.Report{Records: 9, Dropped: map[string]int{}}); err != nil || b.Len() > 0 {
		t.Errorf("a task without finished units is shown as %q, %v", b.String(), err)
	}
	if err := words.Reading(&b, shard.Report{Dropped: map[string]int{"age": 2, "sex": 1}, Imputed: map[string]int{"salt": 4}}); err != nil {
		t.Fatal(err)
	}
	want := "In reading the records, 3 records were dropped: age 2, sex 1.\nIn reading the records, 4 missing values were imputed: salt 4.\n"
	if b.String() != want {
		t.Errorf("progress is shown as %q, want %q", b.String(), want)
	}
}

func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := &Progress{log: &out, now: func() time.Time { return now }}
	p.began = p.now()
	for i := 1; i <= 20; i++ {
		now = now.Add(time.Second)
		p.Update("round", i, 20, func() string { return fmt.Sprintf("ε %d", i) })
	}
	want := `round 5/20  ε 5  1/s  15s left
round 10/20  ε 10  1/s  10s left
round 15/20  ε 15  1/s  5s left
round 20/20  ε 20  1/s  20.0 s
`
	if out.String() != want {
		t.Errorf("log\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	terminal := &Progress{line: cli.NewLine(&out), now: func() time.Time { return now }, began: now}
	now = now.Add(2 * time.Second)
	terminal.Update("run", 1, 2, func() string { return "" })
	terminal.Interrupt()
	if got, want := out.String(), "\rrun 1/2  0.5/s  2s left\n"; got != want {
		t.Errorf("terminal shows %q, want %q", got, want)
	}
	out.Reset()
	quiet := &Progress{log: &out, now: func() time.Time { return now }, quiet: true}
	quiet.Update("run", 2, 2, func() string { return "" })
	if out.Len() > 0 {
		t.Errorf("quiet progress shows %q", out.String())
	}
}

func TestFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "run")
	f, err := NewFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the folder has its name before it is complete")
	}
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("after Discard the folder contains %v, error %v", left, err)
	}
}

func TestNoiseAwareIsShown(t *testing.T) {
	r := two
	r.NoiseAware = &sim.NoiseAware{Method: "one-step", Marginals: two.NonPrivate, Mean: []float64{3, 4}, Covariance: [][]float64{{2, 1}, {1, 5}}}
	if sets := intervalSets(&r); len(sets) != 2 || sets[0].of[0].Mean != 1.1 {
		t.Errorf("sets %+v", sets)
	}
	if _, err := Intervals(&r); err != nil {
		t.Error(err)
	}
	s, err := newShown(&r, gaussian.Diagonal(2))
	if err != nil {
		t.Fatal(err)
	}
	mean, cov, err := s.family.Moments(s.natural)
	if err != nil || math.Abs(mean[1]-4) > 1e-12 || math.Abs(cov.At(0, 1)-1) > 1e-12 || math.Abs(cov.At(1, 1)-5) > 1e-12 {
		t.Errorf("mean %v, covariance %v, %v", mean, cov, err)
	}
	// In natural units the first coordinate is 2x − 3y + 5.
	if natural, err := s.naturalCovariance(); err != nil || math.Abs(natural[0][0]-(4*2-2*6*1+9*5)) > 1e-10 || math.Abs(natural[0][1]-(2*1-3*5)) > 1e-10 {
		t.Errorf("covariance in natural units %v, %v", natural, err)
	}
}
