package formula_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fedpvi/pvi/formula"
	"fedpvi/pvi/program/syntax"
)

var update = flag.Bool("update", false, "write the programs of the formulas to testdata")

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func cases(t testing.TB) map[string]formula.Request {
	t.Helper()
	source, err := os.ReadFile("testdata/cases.json")
	check(t, err)
	var all struct {
		Columns []formula.Column
		Cases   []struct {
			Name string
			formula.Request
		}
	}
	check(t, json.Unmarshal(source, &all))
	out := map[string]formula.Request{}
	for _, c := range all.Cases {
		c.Columns = all.Columns
		out[c.Name] = c.Request
	}
	return out
}

func TestPrograms(t *testing.T) {
	for name, request := range cases(t) {
		t.Run(name, func(t *testing.T) {
			w, err := formula.Write(request)
			check(t, err)
			got := w.Text
			for _, v := range w.Variables {
				got += fmt.Sprintf("// %s is %s %s\n", v.Name, v.Column, v.Is)
			}
			for _, p := range w.Priors {
				got += fmt.Sprintf("// %s ~ %s: %s\n", p.Parameter, p.Density, p.From)
			}
			file := filepath.Join("testdata", name+".stan")
			if *update {
				check(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			if err != nil || string(want) != got {
				t.Errorf("%v: the program is now\n%s", err, got)
			}
		})
	}
}

// If several priors are wrong, the error is always about the first one in alphabetical order.
func TestWrongPriors(t *testing.T) {
	request := cases(t)["gaussian"]
	request.Priors = map[string]string{}
	for _, key := range []string{"zeta", "tau", "beta", "omega", "kappa", "rho"} {
		request.Priors[key] = "normal(0, 1)"
	}
	for range 20 {
		var wrong *formula.PriorError
		if _, err := formula.Write(request); !errors.As(err, &wrong) || wrong.Key != "beta" {
			t.Fatal(err)
		}
	}
}

func TestRefused(t *testing.T) {
	columns := cases(t)["gaussian"].Columns
	for _, c := range []struct {
		formula, family string
		at              string
		says            string
	}{
		{"score", "gaussian", "E600 at 6", `"~" between the outcome and the terms`},
		{"score ~ age +", "gaussian", "E600 at 14", "a column or a term is expected"},
		{"score ~ age smoking", "gaussian", "E600 at 13", "an operator, or the end"},
		{"score ~ d$age", "gaussian", "E600 at 10", "only the names of columns"},
		{"score ~ (age", "gaussian", "E600 at 13", `")" is expected`},
		{"score ~ ages", "gaussian", "E601 at 9", "Its columns are age"},
		{"score ~ .", "gaussian", "E603 at 9", "name every column"},
		{"log(score) ~ age", "gaussian", "E602 at 1", `family = "lognormal"`},
		{"score ~ age == 3", "gaussian", "E602 at 9", "I(a == b)"},
		{"score ~ 2*age", "gaussian", "E602 at 9", "a number is not a term"},
		{"score ~ age^2.5", "gaussian", "E602 at 13", "I(x^2)"},
		{"score ~ I(smoking)", "gaussian", "E602 at 11", `I(smoking == "yes")`},
		{"score ~ I(smoking == \"maybe\")", "gaussian", "E601 at 22", "Its levels are no, yes"},
		{"score ~ log(dose)", "gaussian", "E605 at 9", "Narrow the bounds"},
		{"score ~ scale(age)", "gaussian", "E605 at 9", "centre and spread in the column age"},
		{"score ~ factor(bmi)", "gaussian", "E602 at 9", "Declare the column with levels"},
		{"score ~ poly(age, 9)", "gaussian", "E602 at 9", "1 to 5"},
		{"score ~ s(age):smoking", "gaussian", "E603 at 9", "cannot be part of an interaction"},
		{"score ~ s(age, by = smoking)", "gaussian", "E603 at 21", "no other arguments"},
		{"score ~ mo(smoking)", "gaussian", "E602 at 9", "at least three levels"},
		{"score ~ age + ar(p = 1)", "gaussian", "E603 at 15", "make the person the record"},
		{"score ~ mi(age)", "gaussian", "E603 at 9", `missing = "drop"`},
		{"score ~ gp(age)", "gaussian", "E603 at 9", "s(x) is a curve"},
		{"grade ~ cs(age)", "cumulative", "E603 at 9", `family = "categorical"`},
		{"mvbind(score, cost) ~ age", "gaussian", "E603 at 1", "one outcome"},
		{"Surv(time, dead) ~ age", "weibull", "E603 at 1", "time | cens(censored)"},
		{"score ~ age + (1 | bmi)", "gaussian", "E604 at 20", "Declare it with its public levels"},
		{"score ~ age + (1 | obs)", "gaussian", "E601 at 20", "a latent of the record, vector[N] obs"},
		{"score ~ (1 | p | practice)", "gaussian", "E603 at 9", "write one term (x | g)"},
		{"score ~ (0 | practice)", "gaussian", "E602 at 9", "(1 | site)"},
		{"score ~ age, shape ~ age", "gaussian", "E602 at 14", "It has sigma"},
		{"score ~ age, nu ~ age", "student", "E603 at 14", "no formula"},
		{"visits ~ age", "bernoulli", "E604 at 1", `positive = ">= 10"`},
		{"score ~ age", "poisson", "E604 at 1", "whose bounds are whole numbers"},
		{"dose ~ age", "Gamma", "E604 at 1", "raise the lower bound"},
		{"part ~ age", "Beta", "E604 at 1", "zero_inflated_beta"},
		{"score ~ age", "hurdle_gamma", "E604 at 1", "must be at least 0, but the column may have -"},
		{"time ~ age", "zero_inflated_beta", "E604 at 1", "must be below 1"},
		{"smoking ~ age", "cumulative", "E604 at 1", "at least 3"},
		{"grade ~ 0 + age", "cumulative", "E602 at 1", "its own intercepts"},
		{"hits ~ age", "binomial", "E602 at 1", "hits | trials(n)"},
		{"hits | trials(bmi) ~ age", "binomial", "E604 at 15", "whose bounds are whole numbers"},
		{"cost | cens(dead) ~ age", "Gamma", "E603 at 8", "weibull"},
		{"time | cens(smoking) ~ age", "weibull", "E604 at 13", `cens(smoking == "no")`},
		{"time | cens(status) ~ age", "lognormal", "E602 at 8", "cens(c, upper)"},
		{"time | cens(status, upper) ~ age", "piecewise_exponential(9)", "E603 at 8", "only censoring on the right"},
		{"visits | trunc(lb = 2) ~ age", "poisson", "E603 at 10", "trunc(lb = 1)"},
		{"visits | rate(dose) ~ age", "poisson", "E604 at 10", "Raise the lower bound"},
		{"score | weights(score) ~ age", "gaussian", "E604 at 9", "at least 0"},
		{"score | thres(3) ~ age", "gaussian", "E603 at 9", "cut points follow"},
		{"score | foo(3) ~ age", "gaussian", "E602 at 9", "is not an addition"},
		{"score ~ practice*grade*smoking*sick*region*status*factor(dead)", "gaussian", "E606 at 1", "(1 | site)"},
		{"score ~ " + strings.Repeat("(", 100), "gaussian", "E606 at 33", "nested"},
	} {
		_, err := formula.Write(formula.Request{Formula: c.formula, Family: c.family, Columns: columns})
		var found *syntax.Errors
		if !errors.As(err, &found) {
			t.Errorf("%s: no message: %v", c.formula, err)
			continue
		}
		m := found.Messages[0]
		_, column := syntax.Place(c.formula, m.At.From)
		if at := fmt.Sprintf("%s at %d", m.Code, column); at != c.at || !strings.Contains(m.Text, c.says) || strings.Contains(m.Text, "%!") {
			t.Errorf("%s: %s, not %s with %q:\n%v", c.formula, at, c.at, c.says, err)
		}
	}
}

func TestRefusedFamiliesAndPriors(t *testing.T) {
	columns := cases(t)["gaussian"].Columns
	for _, c := range []struct {
		request formula.Request
		says    string
	}{
		{formula.Request{Family: "cox"}, `piecewise_exponential(30, 90, 365)`},
		{formula.Request{Family: "binormal"}, "the families are gaussian"},
		{formula.Request{Family: "poisson(identity)"}, "write log"},
		{formula.Request{Family: "bernoulli(probit"}, "no closing bracket"},
		{formula.Request{Family: "piecewise_exponential(90, 30)"}, "in increasing order"},
		{formula.Request{Family: "piecewise_exponential"}, "in increasing order"},
		{formula.Request{Family: "gaussian", Priors: map[string]string{"b_bmi": "normal(0, 1)"}}, "are Intercept, b_age, b, sigma"},
		{formula.Request{Family: "gaussian", Priors: map[string]string{"b": "normal(0, sigma)"}}, "not a density with numbers"},
		{formula.Request{Family: "gaussian", Priors: map[string]string{"b": "normal"}}, "not a density with numbers"},
	} {
		c.request.Formula, c.request.Columns = "score ~ age", columns
		if _, err := formula.Write(c.request); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, not %q", c.request, err, c.says)
		}
	}
}

func TestFormulasOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/use/formulas.md")
	check(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(.*~.*)` \\| `(.*)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 25 {
		t.Fatalf("%d formulas", len(rows))
	}
	for _, row := range rows {
		request := formula.Request{Formula: strings.ReplaceAll(row[1], `\|`, "|"), Family: row[2], Columns: cases(t)["gaussian"].Columns}
		if _, err := formula.Write(request); err != nil {
			t.Errorf("%s: %v", row[1], err)
		}
	}
	for _, name := range formula.Families() {
		if !strings.Contains(string(page), name) && !strings.Contains(string(page), strings.TrimPrefix(strings.TrimPrefix(name, "zero_inflated"), "hurdle")) {
			t.Errorf("the page does not name the family %s", name)
		}
	}
}
