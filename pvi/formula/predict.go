package formula

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/program/syntax"
)

// A design is a column of the model matrix. It has a number for each record, which a coefficient
// multiplies.
type design struct {
	name   string
	text   string
	binds  int // precedence of the outermost operator of the text
	centre float64
	spread float64
	says   string // says where the spread comes from
}

// mostCoefficients is the largest number of coefficients in a predictor, not counting group
// effects.
const mostCoefficients = 250

// designs returns the columns of the model matrix for a term of s, in the same way as R. A factor
// in the term is coded by contrasts if s also has the term without this factor. If not, it is coded
// by an indicator for each level.
func (w *writer) designs(t term, s *sum, at syntax.Span) []design {
	chosen := [][]piece{{}}
	for k, v := range t {
		of := w.variables[v]
		if of.smooth != nil && len(t) > 1 {
			fail("E603", of.at, "s() cannot be part of an interaction.")
		}
		pieces := of.pieces
		if rest := slices.Delete(slices.Clone(t), k, k+1); of.full != nil && !s.has(rest) {
			pieces = of.full
		}
		if len(chosen)*len(pieces) > mostCoefficients {
			fail("E606", of.at, "the formula has more than %d coefficients. Write a column with many levels as a group, (1 | site).", mostCoefficients)
		}
		var next [][]piece
		for _, before := range chosen {
			for _, p := range pieces {
				next = append(next, append(slices.Clone(before), p))
			}
		}
		chosen = next
	}
	var all []design
	for _, pieces := range chosen {
		all = append(all, w.product(pieces, at))
	}
	return all
}

// product returns the product of the pieces. There is one from each variable of a term.
func (w *writer) product(pieces []piece, at syntax.Span) design {
	var names, texts, says []string
	d, numbers := design{spread: 1}, expression{value: func([]float64) float64 { return 1 }}
	given := 1.
	for k, p := range pieces {
		if p.is != nil {
			p.text = w.indicator(p.is.column, p.is.level)
			pieces[k].text = p.text
		}
		names, texts = append(names, p.name), append(texts, p.factor())
		switch {
		case p.spread > 0:
			given *= p.spread
			if p.spread != 1 {
				says = append(says, short(p.spread, 3)+" steps of "+p.name)
			}
		case p.expression.levels:
		default:
			before, own := numbers.value, p.value
			numbers.value = func(row []float64) float64 { return before(row) * own(row) }
			numbers.columns = append(slices.Clone(numbers.columns), p.columns...)
			numbers.text += " * " + p.text
			says = append(says, "the spread of "+p.name)
		}
	}
	d.name, d.text = strings.Join(names, "_x_"), strings.Join(texts, " * ")
	if len(pieces) == 1 {
		d.text, d.binds = pieces[0].text, pieces[0].binds
	}
	mixed := slices.ContainsFunc(pieces, func(p piece) bool { return p.levels || p.spread > 0 })
	if len(numbers.columns) > 0 {
		c := &w.columns[numbers.columns[0]]
		if len(pieces) == 1 && pieces[0].text == w.vector(numbers.columns[0])+"[n]" {
			d.centre, d.spread = c.centre(), c.spread()
			says[0] += " (" + c.from() + ")"
		} else {
			d.centre, d.spread = w.moments(numbers, at)
		}
		if mixed {
			d.centre = 0
		}
	}
	d.spread *= given
	if len(says) > 0 {
		d.says = fmt.Sprintf(", over %s, %s", short(d.spread, 3), strings.Join(says, " and "))
	}
	return d
}

// predict declares the parameters of the predictor mu, and writes the statement that computes it.
// The names of the parameters contain prefix. s is the right side of the formula, and sc the scale
// of the predictor. noIntercept is true if the intercept is already part of the cut points or of
// the baseline hazard.
func (w *writer) predict(mu, prefix string, s *sum, sc scale, noIntercept bool) {
	var lines []string
	at := syntax.Span{To: len(w.request.Formula)}
	centred := s.intercept || noIntercept
	if noIntercept && !s.intercept {
		fail("E602", at, "the family %s has its own intercepts: leave out 0 and - 1.", w.family.name)
	}
	offset := 0.
	for _, n := range s.offsets {
		e := w.expression(n)
		w.finite(e, n.at)
		mean, _ := w.moments(e, n.at)
		offset += mean
		lines = append(lines, e.factor())
	}
	if s.intercept && !noIntercept {
		name := w.names.unique("Intercept_" + prefix)
		w.parameter(Prior{name, fmt.Sprintf("normal(%s, %s)", rounded(sc.centre-offset, sc.sd), short(sc.sd, 3)), sc.middle}, "real", "Intercept")
		lines = slices.Insert(lines, 0, name)
	}
	var smooths []*variable
	count := 0
	for _, t := range s.terms {
		for _, v := range t {
			if w.variables[v].smooth != nil {
				smooths = append(smooths, w.variables[v])
			}
		}
		designs := w.designs(t, s, at)
		if count += len(designs); count > mostCoefficients {
			fail("E606", at, "the formula has more than %d coefficients. Write a column with many levels as a group, (1 | site).", mostCoefficients)
		}
		for _, d := range designs {
			lines = append(lines, w.coefficient(prefix, d, sc, centred))
		}
	}
	for _, v := range smooths {
		lines = append(lines, w.curve(prefix, v, sc))
	}
	for _, g := range s.groups {
		lines = append(lines, w.effects(prefix, g, sc)...)
	}
	if len(lines) == 0 {
		lines = []string{"0"}
	}
	w.predictors = append(w.predictors, fmt.Sprintf("real %s = %s;", mu, strings.Join(lines, "\n+ ")))
}

// rounded writes x without the digits that are negligible relative to sd.
func rounded(x, sd float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(sd))-2)
	if unit == 0 || math.IsInf(unit, 0) {
		return short(x, 6)
	}
	return short(math.Round(x/unit)*unit, 6)
}

// coefficient declares the coefficient of a design, and returns the text of coefficient times
// design. If centred is true, it first subtracts the centre of the design.
func (w *writer) coefficient(prefix string, d design, of scale, centred bool) string {
	name := w.names.unique("b_" + prefix + d.name)
	w.parameter(Prior{name, fmt.Sprintf("normal(0, %s)", short(of.effect*of.unit/d.spread, 3)), of.ofEffects() + d.says}, "real", "b")
	text := d.text
	if centred && d.centre != 0 {
		text = "(" + minus(text, d.centre) + ")"
	} else {
		text = expression{text: text, binds: d.binds}.factor()
	}
	return name + " * " + text
}

// curve declares the coefficients of the curve s(x) except for its linear part, and returns the
// curve as text. The basis functions are cosines between the public bounds. Cosine j is multiplied
// by 1/j², so that the sum of the squared coefficients measures the integrated squared second
// derivative.
func (w *writer) curve(prefix string, v *variable, of scale) string {
	c := &w.columns[v.smooth.column]
	x := w.vector(v.smooth.column) + "[n]"
	k := v.smooth.knots
	sd, curve, basis := w.names.unique("sds_"+prefix+c.Name), w.names.unique("s_"+prefix+c.Name), w.names.unique("basis_"+prefix+c.Name)
	w.varying = true
	w.parameter(Prior{sd, fmt.Sprintf("student_t(3, 0, %s)", short(of.unit, 3)), "half of a Student t with scale " + of.says}, "real<lower=0>", "sds")
	w.centred(curve, sd, k, "coefficients of the curve "+v.source)
	w.predictors = append(w.predictors,
		fmt.Sprintf("vector[%d] %s;", k, basis),
		fmt.Sprintf("for (j in 1:%d)\n%s[j] = sqrt(2) * cos(pi() * j * (%s) / %s) / (1.0 * j * j);", k, basis, minus(x, c.Low), real(c.High-c.Low)))
	return fmt.Sprintf("dot_product(%s, %s)", basis, curve)
}

// mostLevelsOfGroups is the largest number of levels that a group may have.
const mostLevelsOfGroups = 100_000

// effects declares the coefficients that vary between the levels of a group, and returns the terms
// to add to the predictor.
func (w *writer) effects(prefix string, g group, of scale) []string {
	inner := w.sumOf(g.effects)
	if len(inner.groups) > 0 || len(inner.offsets) > 0 {
		fail("E602", g.at, "the left side of a group term has only coefficients, as in (1 + x | site).")
	}
	designs := []design(nil)
	if inner.intercept {
		designs = append(designs, design{name: "Intercept", spread: 1})
	}
	for _, t := range inner.terms {
		if slices.ContainsFunc(t, func(v int) bool { return w.variables[v].smooth != nil }) {
			fail("E603", g.at, "a curve s() in a group is not supported.")
		}
		designs = append(designs, w.designs(t, inner, g.at)...)
	}
	if len(designs) == 0 {
		fail("E602", g.at, "the group has no coefficient: write (1 | site).")
	}
	by, index, levels := w.levelsOfGroup(g)
	correlated := g.correlated && len(designs) > 1
	var sds, lines []string
	w.varying = true
	for _, d := range designs {
		sd := w.names.unique("sd_" + prefix + by + "_" + d.name)
		scale := of.unit / d.spread
		w.parameter(Prior{sd, fmt.Sprintf("student_t(3, 0, %s)", short(scale, 3)), "half of a Student t with scale " + of.says + d.says}, "real<lower=0>", "sd")
		sds = append(sds, sd)
	}
	var effects []string
	if correlated {
		effects = w.correlated(prefix, by, g, designs, sds, levels)
	} else {
		for k, d := range designs {
			r := w.names.unique("r_" + prefix + by + "_" + d.name)
			w.centred(r, sds[k], levels, fmt.Sprintf("effects of %d levels", levels))
			effects = append(effects, r)
		}
	}
	for k, d := range designs {
		line := fmt.Sprintf("%s[%s]", effects[k], index)
		if d.text != "" {
			line += " * " + expression{text: d.text, binds: d.binds}.factor()
		}
		lines = append(lines, line)
	}
	return lines
}

// centred declares a vector of effects that have normal priors with mean 0. Their standard
// deviation is the parameter sd. The study cannot replace these priors, because sd would no longer
// have any effect.
func (w *writer) centred(name, sd string, length int, from string) {
	w.parameters = append(w.parameters, fmt.Sprintf("vector[%d] %s;", length, name))
	w.priors = append(w.priors, Prior{name, "normal(0, " + sd + ")", from})
}

// correlated declares the correlated effects of a group, and returns their names. An effect is its
// standard deviation times a weighted sum of independent standard normal effects. The weights are a
// row of the Cholesky factor of the correlation matrix.
func (w *writer) correlated(prefix, by string, g group, designs []design, sds []string, levels int) []string {
	if len(designs) > 20 {
		fail("E606", g.at, "%d correlated effects: at most 20 are possible. Write (x || site).", len(designs))
	}
	factor := w.names.unique("L_" + prefix + by)
	w.parameter(Prior{factor, "lkj_corr_cholesky(2)", "correlations of effects are likely to be small"}, fmt.Sprintf("cholesky_factor_corr[%d]", len(designs)), "cor")
	var zs, effects []string
	for k, d := range designs {
		z, r := w.names.unique("z_"+prefix+by+"_"+d.name), w.names.unique("r_"+prefix+by+"_"+d.name)
		w.parameter(Prior{z, "std_normal()", fmt.Sprintf("effects of %d levels in units of %s", levels, sds[k])}, fmt.Sprintf("vector[%d]", levels), "z")
		zs, effects = append(zs, z), append(effects, r)
		var mixed []string
		for m := range k + 1 {
			mixed = append(mixed, fmt.Sprintf("%s[%d, %d] * %s", factor, k+1, m+1, zs[m]))
		}
		w.transformed = append(w.transformed, fmt.Sprintf("vector[%d] %s = %s * (%s);", levels, r, sds[k], strings.Join(mixed, " + ")))
		w.shown = append(w.shown, fmt.Sprintf("vector[%d] %s = %s;", levels, w.names.unique("effect_"+prefix+by+"_"+d.name), r))
	}
	return effects
}

// levelsOfGroup returns the name of a group, an expression for the number of the level that a
// record belongs to, and the number of levels. If there are several columns, their levels are
// combined.
func (w *writer) levelsOfGroup(g group) (name, index string, levels int) {
	var names []string
	for _, n := range g.by {
		if !slices.ContainsFunc(w.columns, func(c Column) bool { return c.Name == n.text }) {
			fail("E601", n.at, "%s is not a column of the study. Its columns are %s. If every record is a group of its own, write a program with a latent of the record, vector[N] %s, or a family with its own dispersion, such as negbinomial.",
				n.text, w.columnNames(), n.text)
		}
		i := w.column(n)
		k := len(w.columns[i].Levels)
		if k == 0 {
			fail("E604", n.at, "%s is a numeric column and has no levels to be groups. Declare it with its public levels.", n.text)
		}
		names = append(names, n.text)
		if own := w.level(i) + "[n]"; index == "" {
			index, levels = own, k
		} else {
			group := index
			if strings.Contains(group, " ") {
				group = enclosed(group)
			}
			index, levels = fmt.Sprintf("(%s - 1) * %d + %s", group, k, own), levels*k
		}
		if levels > mostLevelsOfGroups {
			fail("E606", g.at, "the group has more than %d levels.", mostLevelsOfGroups)
		}
	}
	return strings.Join(names, "_"), index, levels
}
