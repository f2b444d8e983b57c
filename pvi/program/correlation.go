package program

import (
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// A parameter of type cholesky_factor_corr[K] is the Cholesky factor L of a correlation matrix: a
// lower triangular K×K matrix with a positive diagonal, such that LLᵀ has ones on the diagonal. Its
// coordinates are the canonical partial correlations z in (−1, 1), row by row:
//
//	L_ij = z_ij √Π_{m<j}(1 − z_im²) for j < i.
//
// The diagonal element makes the norm of the row 1 (Lewandowski, Kurowicka and Joe 2009).

func (s *stager) declareFactor(d *syntax.Statement, v *variable) {
	if len(d.Type.Array) > 0 || len(d.Type.Sizes) != 1 || len(d.Type.Bounds) > 0 {
		s.fail("E403", d.At, "a Cholesky factor of correlations is declared cholesky_factor_corr[K] %s, without bounds.", d.Name)
	}
	size := s.eval(d.Type.Sizes[0])
	k := s.size(&size, d.Type.Sizes[0].At)
	if k < 2 || k > mostPicked {
		s.fail("E402", d.At, "%s has %d rows: there must be 2 to %d.", d.Name, k, mostPicked)
	}
	q := s.newParameter(d, shape{vector, []int{k * (k - 1) / 2}}, ir.Constraint{Kind: ir.Both, Lower: -1, Upper: 1})
	q.factor = k
	z := s.scalars(value{shape: q.shape, node: q.node, known: true, in: real}, d.At)
	p := pen{s, d.At}
	v.shape = shape{matrix, []int{k, k}}
	v.value = value{shape: v.shape, known: true, cholesky: q}
	for i := range k {
		rest := constant(1)
		for j := range k {
			element := constant(0)
			switch {
			case j < i:
				x := z[i*(i-1)/2+j]
				element = p.mul(x, p.is(ir.Sqrt, rest))
				rest = p.mul(rest, p.sub(constant(1), p.is(ir.Square, x)))
				rest.above = true
			case j == i:
				element = p.is(ir.Sqrt, rest)
			}
			v.value.parts = append(v.value.parts, element)
		}
	}
}

// correlation adds the density of Lewandowski, Kurowicka and Joe (LKJ) with argument η to the
// prior, for a Cholesky factor. If the factor has K rows and canonical partial correlations z_im,
// then (1 + z_im)/2 has a beta distribution. Both of its shapes are η + (K − 1 − m)/2, for m = 1,
// 2, ….
func (s *stager) correlation(variate *syntax.Expr, arguments []*syntax.Expr, at syntax.Span) {
	s.inModel(at)
	y := s.eval(variate)
	if y.cholesky == nil || s.loop > 0 || s.mask.known {
		s.fail("E403", at, "lkj_corr_cholesky is the prior of a parameter of type cholesky_factor_corr.")
	}
	if len(arguments) != 1 {
		s.fail("E402", at, "lkj_corr_cholesky has 1 argument.")
	}
	eta := s.eval(arguments[0])
	if !eta.fixed() || !eta.shape.single() || !(eta.number() > 0) {
		s.fail("E302", at, "the argument of lkj_corr_cholesky must be a positive public constant.")
	}
	q, k := y.cholesky, y.cholesky.factor
	if q.covered {
		s.fail("E302", at, "%s has two densities.", q.name)
	}
	q.covered = true
	weights := make([]float64, 0, q.shape.size())
	for i := range k {
		for m := range i {
			weights = append(weights, eta.number()-1+float64(k-2-m)/2)
		}
	}
	z := value{shape: q.shape, node: q.node, known: true, in: real}
	p := pen{s, at}
	s.b.Factor(s.nodeOf(s.sum(p.mul(constants(q.shape, weights), p.log1m(p.is(ir.Square, z))), at)))
}
