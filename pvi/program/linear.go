package program

import (
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// A form is a number of the record, written as Σ x·θ_i plus other summands. In each product, x
// depends only on the row, and θ_i is an element of a parameter. A record program computes Σ x·θ_i
// as one dot product, which is faster than a sum of products.
type form struct {
	terms []product
	rest  []value // the other summands
}

// A product is a number x, which depends only on the row, times an element of an unconstrained
// parameter.
type product struct {
	x, parameter value
}

// coordinate returns the index of the parameter's element in θ, which [stager.asProduct] uses to
// combine products. If the builder reorders the parameters later, fewer products are combined. The
// result is slower but still correct.
func (p product) coordinate() int { return p.parameter.from.coordinate + p.parameter.first }

// formOf returns the form that was stored for v. If there is none, it returns 1·v for an
// unconstrained element of a parameter, and in all other cases a form whose only summand is v.
func (s *stager) formOf(v value) form {
	if f, ok := s.forms[v.node]; ok && !v.fixed() && v.parts == nil {
		return f
	}
	if v.from != nil && v.from.latents == nil && v.shape.single() && v.from.constraint.Kind == ir.Unconstrained {
		return form{terms: []product{{constant(1), v}}}
	}
	return form{rest: []value{v}}
}

// keepForm stores the form of out if the operation is a sum, a difference, or a product with a
// number that depends only on the row.
func (s *stager) keepForm(op ir.Op, out, a, b value, at syntax.Span) {
	if !out.shape.single() || s.phase(out) != ir.Record {
		return
	}
	f, g := s.formOf(a), s.formOf(b)
	if n := len(f.terms) + len(g.terms); n == 0 || n+len(f.rest)+len(g.rest) > mostTerms {
		return
	}
	switch op {
	case ir.Add:
		f = f.plus(g)
	case ir.Sub:
		f = f.plus(s.times(g, constant(-1), at))
	case ir.Mul:
		if p := s.phase(b); p == ir.Data || p == ir.Fixed {
			a, f, g = b, g, f
		}
		if p := s.phase(a); p != ir.Data && p != ir.Fixed {
			return
		}
		f = s.times(g, a, at)
	default:
		return
	}
	s.forms[out.node] = f
}

func (f form) plus(g form) form {
	return form{slices.Concat(f.terms, g.terms), slices.Concat(f.rest, g.rest)}
}

// times multiplies a form by a number x that depends only on the row.
func (s *stager) times(f form, x value, at syntax.Span) form {
	x.role, x.from = plain, nil
	var out form
	for _, t := range f.terms {
		t.x = s.binary(ir.Mul, x, t.x, at)
		out.terms = append(out.terms, t)
	}
	for _, v := range f.rest {
		v.role = plain
		out.rest = append(out.rest, s.binary(ir.Mul, x, v, at))
	}
	return out
}

// mostTerms is the largest number of terms in a form. Longer sums are not turned into dot products.
const mostTerms = ir.MaxRecordVector

// asProduct returns v in a form that is faster to compute, if v has at least two products. Products
// whose coordinates of θ are consecutive become one dot product of data and parameters.
func (s *stager) asProduct(v value, at syntax.Span) value {
	f, ok := s.forms[v.node]
	if !ok || v.fixed() || v.parts != nil || len(f.terms) < 2 || len(f.terms) > mostTerms {
		return v
	}
	slices.SortStableFunc(f.terms, func(a, b product) int { return a.coordinate() - b.coordinate() })
	var sum []value
	for from := 0; from < len(f.terms); {
		var xs, of []model.Expr
		next := f.terms[from].coordinate()
		to := from
		for ; to < len(f.terms) && f.terms[to].coordinate() <= next; next++ {
			x := f.terms[to].x
			of = append(of, s.nodeOf(f.terms[to].parameter))
			for to++; to < len(f.terms) && f.terms[to].coordinate() == next; to++ {
				x = s.binary(ir.Add, x, f.terms[to].x, at)
			}
			xs = append(xs, s.nodeOf(x))
		}
		sum = append(sum, s.vectorProduct(xs, of))
		from = to
	}
	for _, r := range f.rest {
		r.role = plain
		sum = append(sum, r)
	}
	out := sum[0]
	for _, r := range sum[1:] {
		out = s.binary(ir.Add, out, r, at)
	}
	out.role = v.role
	return out
}

// vectorProduct returns Σ xs[k]·parameters[k], where xs are data. It uses a dot product if there
// are several elements, at least one of which depends on the row, and otherwise a sum.
func (s *stager) vectorProduct(xs, parameters []model.Expr) value {
	out := value{known: true, in: real}
	x := s.b.Apply(ir.Stack, xs...)
	if len(xs) > 1 && s.b.Phase(x) == ir.Data {
		out.node = s.b.Linear(x, s.b.Apply(ir.Stack, parameters...))
		return out
	}
	out.node = s.b.Mul(xs[0], parameters[0])
	for k := range xs[1:] {
		out.node = s.b.Add(out.node, s.b.Mul(xs[k+1], parameters[k+1]))
	}
	return out
}
