package program

import (
	"maps"
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

type parameter struct {
	name       string
	at         syntax.Span
	constraint ir.Constraint
	shape      shape
	node       model.Expr
	elements   []*prior // prior of each element, or nil
	coordinate int      // index of the first coordinate in θ; no longer right if the builder reorders the parameters later

	// factor is the number of rows if the parameter is the Cholesky factor of a correlation matrix,
	// and otherwise 0. The elements of such a parameter are partial correlations. covered is true if
	// it has a prior.
	factor  int
	covered bool

	// latents holds the elements if each record has its own, and is nil if not.
	latents []*latent
}

// A prior is the prior of consecutive elements of a parameter, beginning with element first.
type prior struct {
	density ir.Density
	args    []value // each argument is a number, or has one element for each element with this prior
	first   int
}

// addProper makes a density the prior of y if y consists of elements of a parameter, or the density
// of y if y consists of latents. If neither is possible, it returns false, and the density must be
// added to the log density.
func (s *stager) addProper(d density, name string, y value, args []value, at syntax.Span) bool {
	if y.from != nil && y.from.latents != nil {
		return s.addLaw(d, name, y, args, at)
	}
	return s.isPrior(y, args) && s.addPrior(d, name, y, args, at)
}

// addPrior makes a density the prior of y, which consists of elements of a parameter. It returns
// false if an element already has a prior, or if parameters cannot have this prior.
func (s *stager) addPrior(d density, name string, y value, args []value, at syntax.Span) bool {
	q := y.from
	elements := q.elements[y.first : y.first+y.shape.size()]
	if d.prior == ir.NoDensity || slices.ContainsFunc(elements, func(p *prior) bool { return p != nil }) {
		return false
	}
	if d.prior == ir.Dirichlet && (len(elements) != len(q.elements) || q.constraint.Kind != ir.Simplex) {
		s.fail("E302", at, "dirichlet is the prior of a whole parameter that is a simplex.")
	}
	s.checkPrior(d, name, y, args, at)
	p := &prior{d.prior, args, y.first}
	for k := range elements {
		elements[k] = p
	}
	return true
}

// checkPrior refuses a density that cannot be the prior of y, which consists of elements of a
// parameter. The sizes must fit, the bounds of y must lie within the support, and arguments that
// have to be positive must be known to be so.
func (s *stager) checkPrior(d density, name string, y value, args []value, at syntax.Span) {
	info, _ := d.prior.Info()
	for k, a := range args {
		switch {
		case !a.shape.single() && a.shape.size() != y.shape.size():
			s.fail("E402", at, "the sizes do not fit: %d elements of %s and %d of an argument.", y.shape.size(), y.from.name, a.shape.size())
		case info.Positive[k] && !a.above:
			s.fail("E302", at, "argument %d of %s is not known to be positive: declare it with lower=0.", k+1, name)
		}
	}
	if !inside(info.Support, y.from.constraint) {
		s.fail("E302", at, "%s can leave the values that %s allows: declare its bounds.", y.from.name, name)
	}
}

// inside reports whether all values that c allows lie in the support of a density.
func inside(support ir.Support, c ir.Constraint) bool {
	switch support {
	case ir.OnPositive:
		return (c.Kind == ir.Lower || c.Kind == ir.Both) && c.Lower >= 0
	case ir.OnUnit:
		return c.Kind == ir.Both && c.Lower >= 0 && c.Upper <= 1
	case ir.OnReals:
		return c.Kind != ir.Simplex
	}
	return true
}

// complete adds priors from the study (data.Complete) to parameters that have none.
func (s *stager) complete(*syntax.Program) {
	for _, name := range slices.Sorted(maps.Keys(s.data.Complete)) {
		s.attempt(func() { s.completeOne(name) })
	}
}

func (s *stager) completeOne(name string) {
	v := s.variables[name]
	if v == nil || v.value.from == nil || v.value.from.name != name {
		s.fail("E303", syntax.Span{}, "complete.%s: this is not a parameter.", name)
	}
	q := v.value.from
	if slices.ContainsFunc(q.elements, func(p *prior) bool { return p != nil }) {
		s.fail("E303", q.at, "complete.%s: the program already has the prior of this parameter.", name)
	}
	call, err := syntax.ParseCall(s.data.Complete[name])
	if err != nil {
		s.fail("E303", q.at, "complete.%s: %v.", name, err)
	}
	d := s.densityOf(call.Text, q.at)
	at := q.at
	for _, a := range call.Args {
		a.At = at
	}
	variate := &syntax.Expr{Kind: syntax.Name, Text: name, At: at}
	y, args := s.arguments(d, call.Text, variate, call.Args, at)
	if !s.addProper(d, call.Text, y, args, at) {
		s.fail("E303", at, "complete.%s: %s cannot be the prior of this parameter.", name, call.Text)
	}
}

func (s *stager) cover(*syntax.Program) {
	for _, q := range s.parameters {
		s.attempt(func() { s.b.Prior(q.node, s.distribution(q)) })
	}
}

func (s *stager) distribution(q *parameter) model.Distribution {
	first := q.elements[0]
	if slices.Contains(q.elements, nil) {
		return s.flatPrior(q)
	}
	if !slices.ContainsFunc(q.elements, func(p *prior) bool { return p != first }) {
		return s.b.Of(first.density, s.reshaped(q, first.args)...)
	}
	args := make([]value, len(first.args))
	for k := range args {
		args[k] = value{shape: q.shape, known: true}
		for e, p := range q.elements {
			if p.density != first.density {
				s.fail("E403", q.at, "the elements of %s have different densities: declare them as parameters of their own.", q.name)
			}
			one := p.args[k]
			if !one.shape.single() {
				one = s.scalars(one, q.at)[e-p.first]
			}
			args[k].parts = append(args[k].parts, one)
		}
	}
	return s.b.Of(first.density, s.nodesOf(args)...)
}

// flatPrior returns a uniform prior for a parameter without a prior. The parameter must have an
// interval or a simplex as its range, so that a uniform prior is proper, and none of its elements
// may have a prior.
func (s *stager) flatPrior(q *parameter) model.Distribution {
	if q.factor > 0 && !q.covered {
		s.fail("E301", q.at, "%s has no proper prior. Write %s ~ lkj_corr_cholesky(2);", q.name, q.name)
	}
	without := !slices.ContainsFunc(q.elements, func(p *prior) bool { return p != nil })
	switch {
	case without && q.constraint.Kind == ir.Both:
		return s.b.Of(ir.Uniform)
	case without && q.constraint.Kind == ir.Simplex:
		return s.b.Of(ir.Dirichlet, s.b.Number(1))
	case without:
		s.fail("E301", q.at, "%s has no proper prior. Add to the study:  complete.%s = \"normal(0, 10)\"", q.name, q.name)
	}
	s.fail("E301", q.at, "element %d of %s has no proper prior.", 1+slices.Index(q.elements, nil), q.name)
	return model.Distribution{}
}

// reshaped returns the nodes for the arguments of a prior. Unless they are numbers, they get the
// shape of the parameter.
func (s *stager) reshaped(q *parameter, args []value) []model.Expr {
	rows, cols := q.shape.table()
	nodes := s.nodesOf(args)
	for k, a := range args {
		if r, c := a.shape.table(); !a.shape.single() && (r != rows || c != cols) {
			nodes[k] = s.b.Slice(nodes[k], 0, rows, cols)
		}
	}
	return nodes
}

func (s *stager) nodesOf(args []value) []model.Expr {
	nodes := make([]model.Expr, len(args))
	for k, a := range args {
		nodes[k] = s.nodeOf(a)
	}
	return nodes
}
