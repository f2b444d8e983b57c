package describe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/study"
)

// parse returns a study with tables of three columns: a number, a level, and a number on a log
// scale. A fourth column divides the tables. All but the first may be missing.
func parse(t testing.TB) *study.Study {
	t.Helper()
	st, err := study.Parse("study.toml", []byte(`
study = { version = 2, name = "tables" }
column = [
  { name = "age", type = "numeric", bounds = [20, 100], unit = "years" },
  { name = "colour", type = "categorical", levels = ["red", "green", "blue"], missing = "impute", impute = "red" },
  { name = "income", type = "numeric", bounds = [1, 10000], transform = "log", missing = "impute", impute = 100 },
  { name = "site", type = "categorical", levels = ["a", "b"], missing = "impute", impute = "a" },
]
model = { family = "linear", outcome = "age", terms = ["colour"], noise_sd = 10.0 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-6 }
federation = { nominal_records = 1000 }
describe = { by = "site", bins = 8 }
`))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// randomRecord returns the age, colour, income and site of a record. NaN is a missing value.
func randomRecord(r *rand.Rand) []float64 {
	row := []float64{20 + 80*math.Sqrt(r.Float64()), float64(r.IntN(3)), math.Exp(9.2103403 * r.Float64()), float64(r.IntN(2))}
	for _, k := range []int{1, 2, 3} {
		if r.IntN(5) == 0 {
			row[k] = math.NaN()
		}
	}
	return row
}

// The norm of a vector is at most Norm, with equality if all numbers are at their bounds. A record
// adds 1 to exactly one cell of each column, in its own group.
func TestNorm(t *testing.T) {
	l := describe.New(parse(t))
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float64, l.Size())
	for range 20000 {
		row := randomRecord(r)
		l.Vector(v, row)
		if n := floats.Norm(v, 2); n > l.Norm()*(1+1e-12) {
			t.Fatalf("%v: the vector has norm %g, more than %g", row, n, l.Norm())
		}
		ones := 0
		for _, x := range v {
			if x == 1 {
				ones++
			}
		}
		if ones != 3 {
			t.Fatalf("%v: the record is in %d cells, want 3", row, ones)
		}
	}
	for _, row := range [][]float64{{20, 0, 1, 0}, {100, 2, 10000, 1}, {20, math.NaN(), 10000, math.NaN()}} {
		l.Vector(v, row)
		if n := floats.Norm(v, 2); math.Abs(n-l.Norm()) > 1e-12 || l.Norm() != math.Sqrt(5) {
			t.Errorf("%v: norm %g, want √5 = %g", row, n, l.Norm())
		}
	}
	l.Vector(v, []float64{math.Inf(1), 17, -5, -3}) // values that no file can contain
	if n := floats.Norm(v, 2); !(n <= l.Norm()*(1+1e-12)) {
		t.Errorf("values beyond the study: norm %g", n)
	}
}

// A truth is the true value of a statistic, computed from the records without noise.
type truth struct {
	name  string
	of    float64
	value func(*describe.Summary) describe.Value
}

func truths(records [][]float64, st *study.Study) (all []truth) {
	groups := []func([]float64) bool{
		func([]float64) bool { return true },
		func(r []float64) bool { return r[3] == 0 },
		func(r []float64) bool { return r[3] == 1 },
		func(r []float64) bool { return math.IsNaN(r[3]) },
	}
	for g, in := range groups {
		var own [][]float64
		for _, r := range records {
			if in(r) {
				own = append(own, r)
			}
		}
		add := func(name string, of float64, value func(*describe.Summary) describe.Value) {
			all = append(all, truth{fmt.Sprintf("group %d %s", g, name), of, value})
		}
		add("records", float64(len(own)), func(s *describe.Summary) describe.Value { return s.Groups[g].Records })
		for k := range 3 {
			var known []float64
			counts := map[int]int{}
			for _, r := range own {
				x := r[k]
				switch {
				case math.IsNaN(x):
					counts[-1]++
					continue
				case k == 1:
					counts[int(x)]++
				default:
					edges := st.Columns[k].Edges(8)
					b := 0
					for b < 7 && x >= edges[b+1] {
						b++
					}
					counts[b]++
				}
				known = append(known, x)
			}
			cells := []int{8, 4, 9}[k]
			for i := range cells {
				n := counts[i]
				if i == cells-1 && k > 0 {
					n = counts[-1]
				}
				add(fmt.Sprintf("column %d count %d", k, i), float64(n), func(s *describe.Summary) describe.Value { return s.Columns[k].Parts[g].Counts[i] })
				add(fmt.Sprintf("column %d share %d", k, i), float64(n)/float64(len(own)), func(s *describe.Summary) describe.Value { return s.Columns[k].Parts[g].Shares[i] })
			}
			if k == 1 {
				continue
			}
			mean, variance := stat.PopMeanVariance(known, nil)
			add(fmt.Sprintf("column %d mean", k), mean, func(s *describe.Summary) describe.Value { return *s.Columns[k].Parts[g].Mean })
			add(fmt.Sprintf("column %d sd", k), math.Sqrt(variance), func(s *describe.Summary) describe.Value { return *s.Columns[k].Parts[g].SD })
			slices.Sort(known)
			for q := range 3 {
				at := stat.Quantile(float64(q+1)/4, stat.Empirical, known, nil)
				add(fmt.Sprintf("column %d quartile %d", k, q+1), at, func(s *describe.Summary) describe.Value { return s.Columns[k].Parts[g].Quartiles[q] })
			}
		}
	}
	return all
}

func draw(t testing.TB, n int, seed uint64) (l *describe.Layout, sums []float64, all []truth) {
	st := parse(t)
	l = describe.New(st)
	r := rand.New(rand.NewPCG(seed, 3))
	records := make([][]float64, n)
	sums = make([]float64, l.Size())
	v := make([]float64, l.Size())
	for i := range records {
		records[i] = randomRecord(r)
		l.Vector(v, records[i])
		floats.Add(sums, v)
	}
	return l, sums, truths(records, st)
}

// Without noise, the tables contain the true statistics of the records.
func TestExact(t *testing.T) {
	l, sums, all := draw(t, 3000, 11)
	s := l.Summary(sums, 1e-9, 3, .95)
	for _, one := range all {
		v := one.value(s)
		if !(v.Low-1e-6 <= one.of && one.of <= v.High+1e-6) {
			t.Errorf("%s: %g is not in [%g, %g]", one.name, one.of, v.Low, v.High)
		}
		// A quartile is known only up to its bin.
		if len(one.name) > 0 && !slices.Contains([]string{"1", "2", "3"}, one.name[len(one.name)-1:]) || one.name == "records" {
			if math.Abs(v.Estimate-one.of) > 1e-5*(1+math.Abs(one.of)) {
				t.Errorf("%s: %g, want %g", one.name, v.Estimate, one.of)
			}
		}
	}
}

// About 90 % of the 90 % intervals contain the true statistics, whether the noise is small, large, or
// so large that it hides the groups. Intervals of quartiles contain them more often.
func TestIntervalsHold(t *testing.T) {
	const draws = 150
	l, sums, all := draw(t, 3000, 12)
	for _, sd := range []float64{5, 40, 400} {
		r := rand.New(rand.NewPCG(10001, uint64(sd)))
		held, of := map[string]int{}, map[string]int{}
		noisy := make([]float64, len(sums))
		for range draws {
			for i, x := range sums {
				noisy[i] = x + sd*r.NormFloat64()
			}
			s := l.Summary(noisy, sd, 3, .9)
			for _, one := range all {
				var kind string
				for _, k := range []string{"records", "count", "share", "mean", "sd", "quartile"} {
					if slices.Contains(strings.Fields(one.name), k) {
						kind = k
					}
				}
				v := one.value(s)
				if !(v.Low <= v.Estimate && v.Estimate <= v.High) {
					t.Fatalf("sd %g, %s: %g is not in [%g, %g]", sd, one.name, v.Estimate, v.Low, v.High)
				}
				of[kind]++
				if v.Low <= one.of && one.of <= v.High {
					held[kind]++
				}
			}
		}
		for kind, n := range of {
			share := float64(held[kind]) / float64(n)
			t.Logf("noise %3g: %-8s %.3f of %d", sd, kind, share, n)
			low, high := .87, .93
			if kind == "quartile" || sd == 400 {
				high = 1
			}
			if share < low || share > high {
				t.Errorf("noise %g: 90 %% intervals of %s hold %.3f", sd, kind, share)
			}
		}
	}
}

// If all values are equal, noise makes the estimated variance negative in about half of the draws.
// Then there is no estimate of the sd, and its interval begins at 0.
func TestSDOfEqualValues(t *testing.T) {
	l := describe.New(parse(t))
	sums, v := make([]float64, l.Size()), make([]float64, l.Size())
	for range 3000 {
		l.Vector(v, []float64{60, 0, 100, 0})
		floats.Add(sums, v)
	}
	r := rand.New(rand.NewPCG(10002, 1))
	without := 0
	const draws = 200
	for range draws {
		noisy := slices.Clone(sums)
		for i := range noisy {
			noisy[i] += 20 * r.NormFloat64()
		}
		sd := l.Summary(noisy, 20, 3, .9).Columns[0].Parts[0].SD
		if sd.IntervalOnly != (sd.Estimate == 0) || sd.IntervalOnly && sd.Low != 0 {
			t.Fatalf("the sd is %+v", *sd)
		}
		if sd.IntervalOnly {
			without++
		}
	}
	if without < draws/4 || without > 3*draws/4 {
		t.Errorf("%d of %d draws have no estimate of the sd", without, draws)
	}
}

// FuzzVector checks that vectors have a norm of at most Norm for any values, and that Vector
// overwrites all of dst.
func FuzzVector(f *testing.F) {
	f.Add(20.0, 0.0, 1.0, 0.0)
	f.Add(math.NaN(), math.NaN(), math.NaN(), math.NaN())
	f.Add(math.Inf(-1), 1e300, math.Copysign(0, -1), 2.0)
	l := describe.New(parse(f))
	f.Fuzz(func(t *testing.T, age, colour, income, site float64) {
		one, again := make([]float64, l.Size()), slices.Repeat([]float64{math.NaN()}, l.Size())
		l.Vector(one, []float64{age, colour, income, site})
		l.Vector(again, []float64{age, colour, income, site})
		if n := floats.Norm(one, 2); !(n <= l.Norm()*(1+1e-12)) || !slices.Equal(one, again) {
			t.Fatalf("norm %g, at most %g allowed", n, l.Norm())
		}
	})
}
