package program

import (
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// An outcome is a density statement about data. The density's function change has already been
// applied to its arguments.
type outcome struct {
	name    string
	density density
	y       value
	args    []value
	masked  bool // whether the density is added only under a condition on the record
}

// predictions returns the quantities for [Data.Predict].
func (s *stager) predictions() []model.Quantity {
	all := []model.Quantity{{Name: "log_lik", Value: s.nodeOf(s.likelihood)}}
	o, p := s.outcome, pen{s, syntax.Span{}}
	if len(s.latents) > 0 || s.terms != 1 || o.masked || o.name == "" || !o.y.shape.single() {
		return all
	}
	for k := range o.args {
		if o.args[k].role = plain; !o.density.vector && !o.args[k].shape.single() {
			return all
		}
	}
	if o.density.mean != nil {
		all = append(all, model.Quantity{Name: o.name + "_expected", Value: s.nodeOf(o.density.mean(p, o.args))})
	}
	if o.density.draw != nil {
		all = append(all, model.Quantity{Name: o.name + "_rep", Value: s.nodeOf(s.drawn(o.density, o.args, true, p.at))})
	}
	return all
}

func meanFirst(_ pen, a []value) value { return a[0] }

// meanStudent returns the location, which is the mean if there are more than 1 degrees of freedom.
func meanStudent(_ pen, a []value) value { return a[1] }

func meanGumbel(p pen, a []value) value {
	const euler = .577215664901532860606512090082
	return p.add(a[0], p.mul(a[1], constant(euler)))
}

func meanLogNormal(p pen, a []value) value {
	return p.is(ir.Exp, p.add(a[0], p.mul(p.is(ir.Square, a[1]), constant(.5))))
}

func meanGamma(p pen, a []value) value { return p.div(a[0], a[1]) }

func meanExponential(p pen, a []value) value { return p.is(ir.Inv, a[0]) }

func meanWeibull(p pen, a []value) value {
	return p.mul(a[1], p.is(ir.Exp, p.is(ir.Lgamma, p.add(p.is(ir.Inv, a[0]), constant(1)))))
}

func meanBeta(p pen, a []value) value { return p.div(a[0], p.add(a[0], a[1])) }

func meanUniform(p pen, a []value) value { return p.mul(p.add(a[0], a[1]), constant(.5)) }

func meanLogit(p pen, a []value) value { return p.is(ir.InvLogit, a[0]) }

func meanBinomial(p pen, a []value) value { return p.mul(a[0], a[1]) }

func meanBinomialLogit(p pen, a []value) value { return p.mul(a[0], p.is(ir.InvLogit, a[1])) }

func meanBetaBinomial(p pen, a []value) value { return p.mul(a[0], meanBeta(p, a[1:])) }

func meanLog(p pen, a []value) value { return p.is(ir.Exp, a[0]) }
