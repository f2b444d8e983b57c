package formula

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fedpvi/pvi/program/syntax"
)

// A Request is a model as the study describes it, by a formula, a family and columns.
type Request struct {
	Version  int // version of the study language, which determines default priors; 0 means 2
	Formula  string
	Family   string            // such as "poisson" or "bernoulli(probit)"
	Positive string            // condition under which a binary outcome is 1; by default, the value is 1 or the second level
	Priors   map[string]string // priors that replace defaults, by parameter or class
	Columns  []Column
}

// A Written is a formula that has been translated to a program.
type Written struct {
	Text      string // program in the Stan language; N is the number of records
	Variables []Variable
	Priors    []Prior

	// Varying reports whether the formula has group effects, curves or monotonic effects. If it does,
	// some effects are products of parameters, or have priors that depend on parameters.
	Varying bool

	// Effects is the same program with the correlated group effects as generated quantities, in the
	// units of the predictor. It is "" if there are no such effects, or if the program would be too
	// long.
	Effects string
}

// A Variable is a variable that the program declares as data. It is a column, or the indicator of a
// condition on a column.
type Variable struct {
	Name   string
	Column string
	Is     string // condition that is indicated, or "" for the values of the column
	Whole  bool   // whether the variable is an int
}

// A Prior is the prior of a parameter of the program.
type Prior struct {
	Parameter string
	Density   string // such as "normal(0, 2.5)"
	From      string // says where the density comes from
}

// A PriorError is an error in the prior that has the key Key in the study.
type PriorError struct{ Key, Text string }

func (e *PriorError) Error() string { return "prior." + e.Key + " " + e.Text }

// Write translates a model to a program in the Stan language. An error has type [*syntax.Errors],
// [*FamilyError] or [*PriorError]. Write never panics.
func Write(r Request) (out *Written, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case mistake:
			err = &syntax.Errors{Text: r.Formula, Messages: []syntax.Message{p.Message}}
		case *FamilyError, *PriorError:
			err = p.(error)
		default:
			panic(p)
		}
	}()
	w := &writer{
		request: r, columns: r.Columns, family: familyOf(r.Family), names: newNamer(), used: map[string]bool{},
		vectors: map[int]string{}, levels: map[int]string{}, indicators: map[[2]int]string{}, averages: map[string][2]float64{},
	}
	w.names["mu"] = true
	w.model(parse(r.Formula))
	w.checkPriors()
	text := w.program()
	if len(text) > syntax.MaxText {
		fail("E606", syntax.Span{To: len(r.Formula)}, "its program is longer than %d bytes. Write a column with many levels as a group, (1 | site).", syntax.MaxText)
	}
	written := &Written{Text: text, Variables: w.data, Priors: w.priors, Varying: w.varying}
	if len(w.shown) > 0 {
		written.Effects = text + "generated quantities {\n  " + strings.Join(w.shown, "\n  ") + "\n}\n"
	}
	if len(written.Effects) > syntax.MaxText {
		written.Effects = ""
	}
	return written, nil
}

// A writer collects the parts of a program.
type writer struct {
	request Request
	columns []Column
	family  chosen
	names   namer

	variables  []*variable
	data       []Variable
	declared   []string // declarations of the data block
	vectors    map[int]string
	levels     map[int]string
	indicators map[[2]int]string

	parameters  []string // declarations of the parameters
	priors      []Prior
	used        map[string]bool // keys of the study's priors that have been used
	known       []string        // parameters and classes that the study can give priors for
	varying     bool            // see [Written]
	transformed []string
	shown       []string // declarations of correlated effects as generated quantities

	averages map[string][2]float64 // means and standard deviations of expressions over synthetic records, by text

	locals     [][2]string // names and values of local variables, which are different for each record
	predictors []string
	density    []string // statements that add the log density of one record

	functions []string // functions of the program

	trials string // text of the record's number of trials
	noise  string // text of the outcome's standard deviation around mu
}

// column returns the index of the column with the name in n. If there is no such column, it refuses
// the formula.
func (w *writer) column(n *node) int {
	i := slices.IndexFunc(w.columns, func(c Column) bool { return c.Name == n.text })
	switch {
	case i >= 0:
		return i
	case n.text == ".":
		fail("E603", n.at, "name every column: a study lists the columns that it reads.")
	}
	fail("E601", n.at, "%s is not a column of the study. Its columns are %s.", n.text, w.columnNames())
	return 0
}

// columnNames lists the first 20 columns.
func (w *writer) columnNames() string {
	var all []string
	for _, c := range w.columns[:min(len(w.columns), 20)] {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

func (w *writer) declare(i int, is, declaration, name string) string {
	w.data = append(w.data, Variable{name, w.columns[i].Name, is, strings.HasPrefix(declaration, "array")})
	w.declared = append(w.declared, fmt.Sprintf(declaration, name))
	return name
}

// vector returns the variable that holds the values of numeric column i. It declares the variable
// if necessary.
func (w *writer) vector(i int) string {
	if w.vectors[i] == "" {
		w.vectors[i] = w.declare(i, "", "vector[N] %s;", w.names.unique(w.columns[i].Name))
	}
	return w.vectors[i]
}

// level returns the variable that holds the levels of column i, as numbers from 1. It declares the
// variable if necessary.
func (w *writer) level(i int) string {
	if w.levels[i] == "" {
		w.levels[i] = w.declare(i, "", fmt.Sprintf("array[N] int<lower=1, upper=%d> %%s;", len(w.columns[i].Levels)), w.names.unique(w.columns[i].Name))
	}
	return w.levels[i]
}

// count declares column i as an integer variable, and returns the variable.
func (w *writer) count(i int) string {
	return w.declare(i, "", fmt.Sprintf("array[N] int<lower=%s> %%s;", short(w.columns[i].Low, 6)), w.names.unique(w.columns[i].Name))
}

// indicator returns an expression that is 1 for records with the given level in column i, and 0 for
// all others. It declares the variable if necessary.
func (w *writer) indicator(i, level int) string {
	key := [2]int{i, level}
	if w.indicators[key] == "" {
		l := w.columns[i].Levels[level]
		w.indicators[key] = w.declare(i, l, "vector[N] %s;", w.names.unique(w.columns[i].Name+"_"+l)) + "[n]"
	}
	return w.indicators[key]
}

// local returns the name of a local variable that has the given value for record n. The variable is
// computed before the predictors. If there is none yet, local declares one with a name similar to
// base.
func (w *writer) local(base, value string) string {
	if i := slices.IndexFunc(w.locals, func(l [2]string) bool { return l[1] == value }); i >= 0 {
		return w.locals[i][0]
	}
	name := w.names.unique(base)
	w.locals = append(w.locals, [2]string{name, value})
	return name
}

// parameter declares a parameter with the default prior p. The study can replace this prior, either
// by name or by class. The name takes precedence.
func (w *writer) parameter(p Prior, typ string, class string) {
	w.parameters = append(w.parameters, typ+" "+p.Parameter+";")
	for _, key := range []string{p.Parameter, class} {
		if !slices.Contains(w.known, key) {
			w.known = append(w.known, key)
		}
	}
	for _, key := range []string{class, p.Parameter} {
		if text, ok := w.request.Priors[key]; ok {
			w.used[key] = true
			p.Density, p.From = priorText(key, text), "prior."+key+" of the study"
		}
	}
	w.priors = append(w.priors, p)
}

// priorText converts a prior from the study to text for the program. It panics with a [*PriorError]
// unless the prior is a density whose arguments are numbers.
func priorText(key, text string) string {
	call, err := syntax.ParseCall(text)
	if err == nil {
		for _, a := range call.Args {
			if a.Kind == syntax.Unary {
				a = a.Args[0]
			}
			if a.Kind != syntax.Number {
				err = fmt.Errorf("%q", text)
			}
		}
	}
	if err != nil {
		panic(&PriorError{key, fmt.Sprintf("= %q is not a density with numbers, such as \"normal(0, 1)\"", text)})
	}
	if call.Text == "lkj" {
		return strings.Replace(text, "lkj", "lkj_corr_cholesky", 1)
	}
	return text
}

func (w *writer) checkPriors() {
	for _, key := range slices.Sorted(maps.Keys(w.request.Priors)) {
		if !w.used[key] {
			panic(&PriorError{key, "is not the prior of a parameter: the parameters and their classes are " + strings.Join(w.known, ", ")})
		}
	}
}

// model translates the formulas of a model. sides[0] is the formula of the outcome, and the others
// are for further parameters.
func (w *writer) model(sides []side) {
	left := sides[0].left
	outcome, adds := left, []*node(nil)
	if left.kind == isOperator && left.text == "|" {
		outcome, adds = left.args[0], summands(left.args[1])
	}
	i := w.outcomeColumn(outcome)
	c := &w.columns[i]
	w.check(outcome, i)
	y := w.outcomeVariable(i)
	a := w.additions(adds, left.at)
	s := w.scale(c)
	right := w.sumOf(sides[0].right)
	right.offsets = append(right.offsets, a.rate...)
	switch w.family.name {
	case "categorical":
		w.categorical(y, i, right, s, sides)
	case "piecewise_exponential":
		w.further(sides, s)
		w.piecewise(y, right, s, a)
	default:
		if w.family.outcome == grades { // cut points between the classes
			w.names["Intercept"] = true
			w.parameter(Prior{"Intercept", "normal(0, 3)", "default of ordered cut points"}, fmt.Sprintf("ordered[%d]", len(c.Levels)-1), "Intercept")
		}
		w.predict("mu", "", right, s, w.family.outcome == grades)
		w.further(sides, s)
		d := w.family.density(w, y, w.family.link)
		if a.rateText != "" {
			d.args = strings.Replace(d.args, ", shape", ", shape * "+a.rateText, 1)
		}
		w.likelihood(y, d, a)
	}
}

func summands(n *node) []*node {
	if n.kind == isOperator && n.text == "+" && len(n.args) == 2 {
		return append(summands(n.args[0]), summands(n.args[1])...)
	}
	return []*node{n}
}

func (w *writer) outcomeColumn(n *node) int {
	switch {
	case n.kind == isName:
		return w.column(n)
	case n.kind == isCall && (n.text == "cbind" || n.text == "mvbind"):
		fail("E603", n.at, "a study has one outcome. Successes out of trials are written hits | trials(n).")
	case n.kind == isCall && n.text == "Surv":
		fail("E603", n.at, "%s", refusedTerms["Surv"])
	case n.kind == isCall && n.text == "log":
		fail("E602", n.at, "the outcome is a column. Write transform = \"log\" in its column, or family = \"lognormal\".")
	}
	fail("E602", n.at, "the outcome is a column, with additions such as hits | trials(n).")
	return 0
}

// outcomeVariable declares column i as the outcome, and returns text for the outcome of a record.
func (w *writer) outcomeVariable(i int) string {
	c := &w.columns[i]
	switch w.family.outcome {
	case binary:
		is := w.request.Positive
		if is == "" && len(c.Levels) == 2 {
			is = c.Levels[1]
		}
		return w.declare(i, is, "array[N] int<lower=0, upper=1> %s;", w.names.unique(c.Name)) + "[n]"
	case classes, grades:
		return w.level(i) + "[n]"
	case counts:
		return w.count(i) + "[n]"
	}
	return w.vector(i) + "[n]"
}

// categorical writes the density of the class, and a predictor for each class except the first. The
// predictor of the first class is 0.
func (w *writer) categorical(y string, i int, right *sum, s scale, sides []side) {
	for _, of := range sides[1:] {
		fail("E602", of.left.at, "the family categorical has no further parameters.")
	}
	args := []string{"0"}
	for _, level := range w.columns[i].Levels[1:] {
		mu := w.names.unique("mu_" + level)
		w.predict(mu, strings.TrimPrefix(mu, "mu_")+"_", right, s, false)
		args = append(args, mu)
	}
	w.density = []string{fmt.Sprintf("%s ~ categorical_logit([%s]');", y, strings.Join(args, ", "))}
}

// piecewise writes the density of a survival time whose hazard is constant between the times of the
// family. The density is a function of the program, so that readers recognise it.
func (w *writer) piecewise(y string, right *sum, s scale, a additions) {
	cuts := w.family.cuts
	k := len(cuts) + 1
	hazard := w.names.unique("log_hazard")
	w.parameter(Prior{hazard, fmt.Sprintf("normal(%s, %s)", rounded(-s.centre, s.sd), short(s.sd, 3)), "minus " + s.middle},
		fmt.Sprintf("vector[%d]", k), "log_hazard")
	w.predict("mu", "", right, s, true)
	log, cumulative := w.names.unique("log_h"), w.names.unique("H")
	w.locals = append(w.locals, [2]string{log, "0"}, [2]string{cumulative, "0"})
	for j := range k {
		var inside []string
		overlap := y
		if j < len(cuts) {
			overlap = fmt.Sprintf("fmin(%s, %s)", y, short(cuts[j], 10))
		}
		if j > 0 {
			low := short(cuts[j-1], 10)
			inside = append(inside, y+" > "+low)
			overlap = fmt.Sprintf("fmax(%s - %s, 0)", overlap, low)
		}
		if j < len(cuts) {
			inside = append(inside, y+" <= "+short(cuts[j], 10))
		}
		w.density = append(w.density,
			fmt.Sprintf("%s += (%s) * %s[%d];", log, strings.Join(inside, " && "), hazard, j+1),
			fmt.Sprintf("%s += %s * exp(%s[%d]);", cumulative, overlap, hazard, j+1))
	}
	of := w.names.unique("hazard")
	w.functions = []string{fmt.Sprintf("real %s_lpdf(real t, real log_h, real H) { return log_h - H; }", of)}
	if a.censored != "" {
		w.functions = append(w.functions, fmt.Sprintf("real %s_lccdf(real t, real log_h, real H) { return -H; }", of))
	}
	w.likelihood(y, density{name: of, args: fmt.Sprintf("%s + mu, exp(mu) * %s", log, cumulative)}, a)
}

// further declares the family's parameters other than mu, such as sigma. For those that have a
// formula, it also declares a predictor.
func (w *writer) further(sides []side, s scale) {
	formulas, has := map[string]side{}, "."
	if len(w.family.further) > 0 {
		has = ". It has " + strings.Join(w.family.further, ", ") + "."
	}
	for _, of := range sides[1:] {
		if of.left.kind != isName || !slices.Contains(w.family.further, of.left.text) {
			fail("E602", of.left.at, "the family %s has no parameter of this name%s", w.family.name, has)
		}
		formulas[of.left.text] = of
	}
	for _, name := range w.family.further {
		if name == "sigma" && w.noise != "" && w.noise != "sigma" {
			continue
		}
		of, modelled := formulas[name]
		d := w.shapeOf(name, s)
		if !modelled {
			bounds := "<lower=" + d.lower
			if d.upper != "" {
				bounds += ", upper=" + d.upper
			}
			w.names[name] = true
			w.parameter(Prior{name, d.prior, d.says}, "real"+bounds+">", name)
			continue
		}
		if d.link == "" {
			fail("E603", of.left.at, "%s has no formula.", name)
		}
		eta := w.names.unique(name + "_eta")
		own := unitScale(d.centre, d.link)
		own.sd, own.effect, own.middle = d.sd, d.effect, short(d.sd, 3)+" on the "+d.link+" scale"
		w.predict(eta, name+"_", w.sumOf(of.right), own, false)
		inverse := map[string]string{"log": "exp", "logit": "inv_logit"}[d.link]
		w.names[name] = true
		w.predictors = append(w.predictors, fmt.Sprintf("real %s = %s(%s);", name, inverse, eta))
	}
}

func (w *writer) likelihood(y string, d density, a additions) {
	if a.positive {
		d = density{log: d.lpdf(y) + " - " + map[string]string{"poisson": poissonTail, "negbinomial": negativeTail}[w.family.name]}
	}
	plain := a.term(d.lpdf(y))
	if a.weight == "" && d.name != "" {
		plain = fmt.Sprintf("%s ~ %s(%s)%s;", y, d.name, d.args, a.truncated)
	}
	if a.censored == "" {
		w.density = append(w.density, plain)
		return
	}
	below, above := fmt.Sprintf("%s_lcdf(%s | %s)", d.name, y, d.args), fmt.Sprintf("%s_lccdf(%s | %s)", d.name, y, d.args)
	otherwise := ""
	branch := func(code, log string) {
		w.density = append(w.density, fmt.Sprintf("%sif (%s == %s)", otherwise, a.censored, code), "  "+a.term(log))
		otherwise = "else "
	}
	branch("1", above)
	if a.low < 0 {
		branch("-1", below)
	}
	if a.high > 1 {
		branch("2", fmt.Sprintf("log_diff_exp(%s_lcdf(%s | %s), %s)", d.name, a.upper, d.args, below))
	}
	w.density = append(w.density, "else", "  "+plain)
}

func (w *writer) program() string {
	var b strings.Builder
	block := func(name string, lines ...string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString(name + " {\n")
		for _, line := range lines {
			b.WriteString("  " + line + "\n")
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "// %s, family = %s\n", strings.Join(strings.Fields(w.request.Formula), " "), w.family.says())
	block("functions", w.functions...)
	block("data", append([]string{"int<lower=0> N;"}, w.declared...)...)
	block("parameters", w.parameters...)
	block("transformed parameters", w.transformed...)
	var lines []string
	for _, p := range w.priors {
		lines = append(lines, fmt.Sprintf("%s ~ %s;", p.Parameter, p.Density))
	}
	lines = append(lines, "for (n in 1:N) {")
	for _, l := range w.locals {
		lines = append(lines, fmt.Sprintf("  real %s = %s;", l[0], l[1]))
	}
	for _, one := range slices.Concat(w.predictors, w.density) {
		lines = append(lines, "  "+strings.ReplaceAll(one, "\n", "\n      "))
	}
	block("model", append(lines, "}")...)
	return b.String()
}
