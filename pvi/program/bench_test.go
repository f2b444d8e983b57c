package program_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/gpu"
	"fedpvi/internal/testing/programs"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// scalars returns the program of a logistic regression on n covariates, which uses a separate
// scalar for each.
func scalars(n int) (text string, data program.Data) {
	var columns, parameters, sum strings.Builder
	data = program.Data{Name: "scalars", Records: "N", Columns: map[string]ir.Column{"y": {Name: "y", Upper: 1, Integer: true}}}
	for k := range n {
		fmt.Fprintf(&columns, "  vector[N] x%d;\n", k)
		fmt.Fprintf(&parameters, "  real b%d;\n", k)
		fmt.Fprintf(&sum, " + b%d * x%d[n]", k, k)
		data.Columns[fmt.Sprint("x", k)] = ir.Column{Name: fmt.Sprint("x", k), Lower: -5, Upper: 5}
		data.Complete = map[string]string{}
	}
	for k := range n {
		data.Complete[fmt.Sprint("b", k)] = "normal(0, 1)"
	}
	return fmt.Sprintf("data {\n  int N;\n%s  array[N] int<lower=0, upper=1> y;\n}\nparameters {\n  real a;\n%s}\nmodel {\n  a ~ normal(0, 1);\n  for (n in 1:N)\n    y[n] ~ bernoulli_logit(a%s);\n}\n",
		columns.String(), parameters.String(), sum.String()), data
}

func compiled(t testing.TB, text string, data program.Data) *model.Model {
	t.Helper()
	tree, err := syntax.Parse(text)
	check(t, err)
	c, err := program.Compile(tree, data)
	check(t, err)
	return c.Model
}

func gradients(b *testing.B, m *model.Model, rows int, columns [][]float64) {
	table, err := m.Load(rows, columns)
	check(b, err)
	engine, err := gpu.CPU{}.Compile(m, table)
	check(b, err)
	dst, theta := make([]float64, m.Dim()), make([]float64, m.Dim())
	for b.Loop() {
		_, err := engine.Sum(dst, &gpu.Query{Draws: [][]float64{theta}, Clip: 1})
		check(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/record")
}

// BenchmarkRegression measures the clipped gradient of a regression with six coordinates. If the
// program is written with scalars, it takes at most 1.1 times as long as with one matrix product.
func BenchmarkRegression(b *testing.B) {
	const rows, n = 8192, 5
	r := rand.New(rand.NewPCG(1, 2))
	column := func(width int) []float64 {
		x := make([]float64, rows*width)
		for i := range x {
			x[i] = max(-5, min(5, r.NormFloat64()))
		}
		return x
	}
	y := make([]float64, rows)
	for i := range y {
		y[i] = float64(r.IntN(2))
	}
	text, data := scalars(n)
	var columns [][]float64
	for range n {
		columns = append(columns, column(1))
	}
	catalogue := programs.Regression{Features: []string{"a", "b", "c", "d", "e"}, Bound: 5, Coefficients: model.Normal{SD: 1}, Intercept: &model.Normal{SD: 1}}
	built, err := catalogue.Build(programs.Logistic)
	check(b, err)
	for name, c := range map[string]struct {
		m       *model.Model
		columns [][]float64
	}{
		"scalars":   {compiled(b, text, data), append(columns, y)},
		"catalogue": {built, [][]float64{y, column(n)}},
	} {
		b.Run(name, func(b *testing.B) { gradients(b, c.m, rows, c.columns) })
	}
}

// BenchmarkCompile compiles a program of 150 lines, which takes 50 ms.
func BenchmarkCompile(b *testing.B) {
	text, data := scalars(48)
	for b.Loop() {
		compiled(b, text, data)
	}
	b.ReportMetric(float64(strings.Count(text, "\n")), "lines")
}

// BenchmarkLatent looks at a Poisson regression in which each record has a normal latent. It
// compares integrating over the latent with computing the density at a given latent. With one
// covariate, the clipped gradient takes at most 20 times as long, and with more covariates the
// ratio is smaller.
func BenchmarkLatent(b *testing.B) {
	const rows = 8192
	for _, width := range []int{1, 60} {
		r := rand.New(rand.NewPCG(1, 2))
		y, x, eps := make([]float64, rows), make([]float64, rows*width), make([]float64, rows)
		for i := range x {
			x[i] = max(-5, min(5, r.NormFloat64()))
		}
		for i := range y {
			eps[i] = max(-5, min(5, r.NormFloat64()))
			y[i] = min(math.Round(math.Exp(.5*x[i*width]+eps[i])*2*r.Float64()), 100)
		}
		var names []string
		for k := range width {
			names = append(names, fmt.Sprint("x", k))
		}
		for _, given := range []bool{false, true} {
			name, columns, declared, parameter := "integrated", [][]float64{y, x}, "", "vector[N] eps;"
			data := program.Data{Name: "latent", Records: "N", Columns: map[string]ir.Column{
				"y": {Name: "y", Upper: 100, Integer: true}, "x": {Name: "x", Entries: ir.NamesOf(names...), Lower: -5, Upper: 5},
			}}
			if given {
				name, columns, declared, parameter = "given", append(columns, eps), parameter, ""
				data.Columns["eps"] = ir.Column{Name: "eps", Lower: -5, Upper: 5}
			}
			text := fmt.Sprintf(`data { int N; array[N] int<lower=0> y; matrix[N, %d] x; %s }
parameters { real a; vector[%d] b; real<lower=0> sigma; %s }
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  sigma ~ normal(0, 1);
  eps ~ normal(0, sigma);
  y ~ poisson_log(a + x * b + eps);
}`, width, declared, width, parameter)
			b.Run(fmt.Sprintf("%d/%s", width, name), func(b *testing.B) { gradients(b, compiled(b, text, data), rows, columns) })
		}
	}
}
