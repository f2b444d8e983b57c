package program

import (
	"fmt"
	"slices"
	"strings"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// mostLatents is the largest number of latents that a record may have.
const mostLatents = 2

// A closeness says how similar the density of a latent is to a normal density with a scale of about
// 1.
type closeness int

const (
	normal closeness = iota
	heavy            // symmetric, but with longer tails
	skew
)

// quadrature returns the rule for integrating over the latents. Skewed densities need more points.
func (s *stager) quadrature() model.Quadrature {
	q := model.Quadrature{Points: 15, LeastPrecision: 1}
	if len(s.freed) == 2 {
		q.Points = 9
	}
	worst := normal
	for _, l := range s.freed {
		worst = max(worst, l.closeness)
	}
	if worst > normal {
		q.LeastPrecision = 0.1
	}
	if worst == skew {
		q.Points = map[int]int{15: 31, 9: 15}[q.Points]
	}
	return q
}

// A latent is an unobserved number that each record has. The compiler integrates over it. In the
// program it is a parameter whose first size is the number of records.
type latent struct {
	name string
	free model.Expr // the latent on the unconstrained scale
	// law is the name of the latent's density, and args its arguments. law is "" until the density is
	// known.
	law     string
	density density
	args    []value
}

// declareLatent declares a parameter whose elements are latents of the records. sh is the shape for
// one record.
func (s *stager) declareLatent(d *syntax.Statement, v *variable, sh shape) {
	if d.Type.Base == "simplex" || d.Type.Base == "ordered" {
		s.fail("E204", d.At, "%s is %s for each record. The numbers that are integrated out for each record may have bounds, but no other constraint: declare real or vector.", d.Name, d.Type.Base)
	}
	if n := len(s.latents) + sh.size(); n > mostLatents {
		s.fail("E204", d.At, "with %s a record has %d numbers that are integrated out, and at most %d are possible. Give some of them to levels of a column, declared vector[J]. If the numbers belong to a person with several rows, make the person the record, with array[%s, T] real y and vector[%s] %s.",
			d.Name, n, mostLatents, s.data.Records, s.data.Records, d.Name)
	}
	q := &parameter{name: d.Name, at: d.At, constraint: s.constraint(d, sh), shape: sh}
	all := value{shape: sh, known: true}
	for k := range sh.size() {
		name := d.Name
		if !sh.single() {
			name = fmt.Sprintf("%s[%d]", d.Name, k+1)
		}
		one := &latent{name: name, free: s.b.Latent(name)}
		q.latents = append(q.latents, one)
		all.parts = append(all.parts, s.bounded(q.constraint, value{node: one.free, known: true, in: real}, d.At))
	}
	s.latents = append(s.latents, q.latents...)
	s.hidden = append(s.hidden, q)
	if sh.single() {
		all = all.parts[0]
	}
	all.node, all.parts = s.nodeOf(all), nil
	all.role, all.from, all.in = rows, q, real
	all.above = inside(ir.OnPositive, q.constraint)
	v.role, v.shape, v.value = rows, sh, all
}

// bounded converts the unconstrained value free to a value that satisfies the constraint c.
func (s *stager) bounded(c ir.Constraint, free value, at syntax.Span) value {
	p := pen{s, at}
	switch c.Kind {
	case ir.Lower:
		return p.moved(p.is(ir.Exp, free), c.Lower)
	case ir.Upper:
		return p.sub(constant(c.Upper), p.is(ir.Exp, free))
	case ir.Both:
		return p.moved(p.mul(p.is(ir.InvLogit, free), constant(c.Upper-c.Lower)), c.Lower)
	}
	return free
}

// moved returns a + by.
func (p pen) moved(a value, by float64) value {
	if by == 0 {
		return a
	}
	return p.add(a, constant(by))
}

// logJacobian returns the log of the derivative of [stager.bounded] with respect to free.
func (s *stager) logJacobian(c ir.Constraint, free value, at syntax.Span) value {
	p := pen{s, at}
	switch c.Kind {
	case ir.Lower, ir.Upper:
		return free
	case ir.Both:
		width := p.log(constant(c.Upper - c.Lower))
		return p.add(p.is(ir.LogInvLogit, free), p.is(ir.LogInvLogit, p.neg(free)), width)
	}
	return constant(0)
}

// addLaw makes d the density of latents. y consists of elements of a parameter that are latents.
// addLaw returns false if one of them already has a density.
func (s *stager) addLaw(d density, name string, y value, args []value, at syntax.Span) bool {
	elements := y.from.latents[y.first : y.first+y.shape.size()]
	if slices.ContainsFunc(elements, func(l *latent) bool { return l.law != "" }) {
		return false
	}
	if _, ok := frames[d.prior]; !ok {
		s.fail("E204", at, "%s is integrated out for each record, and %s is no density for that. Use normal, student_t, logistic, lognormal, gamma, inv_gamma, exponential, weibull or beta.", y.from.name, name)
	}
	if s.mask.known {
		s.fail("E204", at, "%s is integrated out for each record, and its density stands under a condition. Move it out.", y.from.name)
	}
	s.checkPrior(d, name, y, args, at)
	parts := make([][]value, len(args))
	for k, a := range args {
		if parts[k] = []value{a}; !a.shape.single() {
			parts[k] = s.scalars(a, at)
		}
	}
	for e, l := range elements {
		l.law, l.density = name, d
		for _, all := range parts {
			a := all[min(e, len(all)-1)]
			a.role = plain
			l.args = append(l.args, a)
		}
	}
	return true
}

// A frame computes an unconstrained location and scale for a latent from the arguments a of its
// density. The latent is then replaced by center + scale·z, where z is a new latent with a scale of
// about 1. whole is true if z has the same density with location 0 and scale 1.
type frame func(p pen, c ir.Constraint, a []value) (center, scale value, whole bool)

// frames has a frame for each density that a latent may have.
var frames = map[ir.Density]frame{
	ir.Normal:   located,
	ir.StudentT: func(p pen, c ir.Constraint, a []value) (value, value, bool) { return located(p, c, a[1:]) },
	ir.Logistic: located,
	ir.LogNormal: func(_ pen, c ir.Constraint, a []value) (value, value, bool) {
		return a[0], a[1], c.Lower == 0 && c.Kind == ir.Lower
	},
	ir.Gamma:       func(p pen, c ir.Constraint, a []value) (value, value, bool) { return p.positive(c, p.div(a[0], a[1])) },
	ir.InvGamma:    func(p pen, c ir.Constraint, a []value) (value, value, bool) { return p.positive(c, p.div(a[1], a[0])) },
	ir.Exponential: func(p pen, c ir.Constraint, a []value) (value, value, bool) { return p.positive(c, p.is(ir.Inv, a[0])) },
	ir.Weibull:     func(p pen, c ir.Constraint, a []value) (value, value, bool) { return p.positive(c, a[1]) },
	ir.Beta: func(p pen, _ ir.Constraint, a []value) (value, value, bool) {
		return p.log(p.div(a[0], a[1])), constant(1), false
	},
}

// located is the frame of a density with a location and a scale.
func located(p pen, c ir.Constraint, a []value) (center, scale value, whole bool) {
	if c.Kind == ir.Unconstrained {
		return a[0], a[1], true
	}
	return p.positive(c, a[1])
}

// positive returns the frame of a latent that is likely to be close to the positive number near. If
// the latent's lower bound is 0, the location is log(near), and otherwise 0. The scale is 1.
func (p pen) positive(c ir.Constraint, near value) (center, scale value, whole bool) {
	if c.Kind == ir.Lower && c.Lower == 0 {
		return p.log(near), constant(1), false
	}
	return constant(0), constant(1), false
}

// framed expresses the latent l by a new latent z with a scale of about 1. free is the
// unconstrained value of l, log is the log density of z, and like says how close this density is to
// a normal one.
func (s *stager) framed(l *latent, c ir.Constraint, z value, at syntax.Span) (free, log value, like closeness) {
	p := pen{s, at}
	center, scale, whole := frames[l.density.prior](p, c, l.args)
	free = z
	if !scale.fixed() || scale.number() != 1 {
		free = p.mul(scale, free)
	}
	if !center.fixed() || center.number() != 0 {
		free = p.add(free, center)
	}
	switch n := len(l.args); {
	case whole && (l.density.prior == ir.Normal || l.density.prior == ir.LogNormal):
		return free, p.add(p.mul(p.is(ir.Square, z), constant(-.5)), constant(-logRoot2Pi)), normal
	case whole:
		return free, l.density.write(p, z, append(slices.Clone(l.args[:n-2]), constant(0), constant(1))), heavy
	}
	log = p.add(l.density.write(p, s.bounded(c, free, at), l.args), s.logJacobian(c, free, at))
	return free, p.add(log, p.log(scale)), skew
}

// placeLatents expresses each latent by a new latent with a scale of about 1. It refuses latents
// without a density, and densities that depend on each other in a circle.
func (s *stager) placeLatents(*syntax.Program) {
	for _, q := range s.hidden {
		for _, l := range q.latents {
			if l.law == "" {
				s.report("E301", q.at, "%s has no proper density. Write %s ~ normal(0, sigma); with a parameter sigma.", l.name, q.name)
				continue
			}
			s.attempt(func() {
				z := value{node: s.b.Latent(l.name), known: true, in: real}
				free, log, like := s.framed(l, q.constraint, z, q.at)
				s.units = append(s.units, z.node)
				s.freed = append(s.freed, placed{l, s.nodeOf(free), s.nodeOf(log), like})
			})
		}
	}
	if len(s.messages) > 0 {
		return
	}
	for _, q := range s.hidden {
		s.note("W506", q.at, "%s belongs to the record. It is integrated out where the record is, with %d points along each axis, and is no parameter of the posterior.", q.name, s.quadrature().Points)
	}
	// If the density of a latent depends on another latent, the former has to be replaced first.
	slices.SortStableFunc(s.freed, func(a, b placed) int { return s.dependence(a, b) - s.dependence(b, a) })
	for i, a := range s.freed {
		for _, b := range s.freed[i:] {
			if s.dependence(b, a) != 0 {
				s.report("E302", s.hidden[0].at, "the density of %s depends on %s, and the other way round: write one of them without the other.", b.name, a.name)
				return
			}
		}
	}
}

// placed is a latent that has been expressed by a new one in [stager.placeLatents]. at is the
// unconstrained value of the latent as a function of the new one, and log is the log density of the
// new one.
type placed struct {
	*latent
	at, log model.Expr
	closeness
}

// dependence returns −1 if the density of a depends on b, and 0 if it does not.
func (s *stager) dependence(a, b placed) int {
	if s.b.DependsOn(a.at, b.free) || s.b.DependsOn(a.log, b.free) {
		return -1
	}
	return 0
}

// integrated returns the log of the integral of exp(v) over the latents, where v is the log density
// of a record given its latents.
func (s *stager) integrated(v value) model.Expr {
	given := s.nodeOf(v)
	if !s.b.Hidden(given) {
		return given
	}
	joint := []model.Expr{given}
	for _, l := range s.freed {
		joint = append(joint, l.log)
	}
	var names, laws []string
	for _, l := range s.freed {
		for k := range joint {
			joint[k] = s.b.Replace(joint[k], l.free, l.at)
		}
		args := make([]string, len(l.args))
		for k, a := range l.args {
			args[k] = s.b.Text(s.nodeOf(a))
		}
		names, laws = append(names, l.name), append(laws, fmt.Sprintf("%s ~ %s(%s)", l.name, l.law, strings.Join(args, ", ")))
	}
	out := s.b.Integrate(s.units, s.quadrature(), joint[0], joint[1:]...)
	if err := s.b.Err(); err != nil {
		s.fail("E412", s.hidden[0].at, "the program cannot run: %v%s", err, s.advice())
	}
	s.b.Describe(out, fmt.Sprintf("log of the integral over %s of exp(%s) times the density of %s", strings.Join(names, " and "), s.b.Text(given), strings.Join(laws, ", ")))
	if !s.generating {
		s.markIntegral(out)
	}
	return out
}

// markIntegral tells the builder that an integrated log density is the log density of the record's
// outcomes. It does so only if all terms of the density are densities of data.
func (s *stager) markIntegral(record model.Expr) {
	if s.terms != len(s.variates) {
		return
	}
	var all []model.Expr
	for _, y := range s.variates {
		y.role = plain
		for _, one := range s.scalars(y, s.hidden[0].at) {
			all = append(all, s.nodeOf(one))
		}
	}
	s.b.MarkDensity(record, s.b.Apply(ir.Stack, all...))
}

// advice explains how to make a program with latents smaller. It returns "" if there are no
// latents.
func (s *stager) advice() string {
	if len(s.hidden) == 0 {
		return ""
	}
	return fmt.Sprintf(". All that depends on %s is computed many times for each record: make it shorter, or give a record one latent or fewer values.", s.hidden[0].name)
}
