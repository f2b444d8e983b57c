package ir

import "fmt"

// priors returns an error if the parameters do not have a proper joint density. Each parameter must
// have exactly one prior, which may depend only on earlier parameters. The joint density is then a
// product of conditional densities whose integrals are at most 1. This does not take into account
// the program's factors (see [Program]).
func (v *Verified) priors() error {
	p := &v.program
	seen := make([]bool, len(p.Parameters))
	for _, prior := range p.Priors {
		if prior.Parameter < 0 || prior.Parameter >= len(seen) {
			return fmt.Errorf("a prior for parameter %d, which does not exist", prior.Parameter)
		}
		q := &p.Parameters[prior.Parameter]
		if seen[prior.Parameter] {
			return fmt.Errorf("parameter %q has two priors", q.Name)
		}
		seen[prior.Parameter] = true
		if err := v.prior(prior, q); err != nil {
			return fmt.Errorf("prior of %q: %w", q.Name, err)
		}
	}
	for i, ok := range seen {
		if !ok {
			return fmt.Errorf("parameter %q has no proper prior; the study must add one", p.Parameters[i].Name)
		}
	}
	return v.factors()
}

// factors returns an error unless each element of the program's Factors is a number that depends
// only on parameters.
func (v *Verified) factors() error {
	for _, i := range v.program.Factors {
		if i < 0 || i >= len(v.phases) || v.phases[i] != Shared || !v.shapes[i].scalar() {
			return fmt.Errorf("a factor of the prior must be one number that depends on parameters alone")
		}
	}
	return nil
}

func (v *Verified) prior(prior Prior, q *Parameter) error {
	info, ok := prior.Density.Info()
	if !ok || !info.Prior {
		return fmt.Errorf("there is no such prior density")
	}
	if len(prior.Args) != len(info.Positive) {
		return fmt.Errorf("%s needs %d arguments", prior.Density, len(info.Positive))
	}
	if !info.Support.contains(q.Constraint) {
		return fmt.Errorf("the parameter can leave the support of %s; constrain it", prior.Density)
	}
	for k, a := range prior.Args {
		switch {
		case a < 0 || a >= len(v.phases):
			return fmt.Errorf("there is no node %d", a)
		case v.phases[a] != Fixed && v.phases[a] != Shared:
			return fmt.Errorf("argument %d is %s value: a prior reads no data", k+1, v.phases[a])
		case v.latest[a] >= prior.Parameter:
			return fmt.Errorf("argument %d depends on %q, which is not declared before it", k+1, v.program.Parameters[v.latest[a]].Name)
		case !v.shapes[a].scalar() && v.shapes[a] != Shape{q.Rows, q.Cols}:
			return fmt.Errorf("argument %d has a different shape than the parameter", k+1)
		case info.Positive[k] && !v.positive[a]:
			return fmt.Errorf("argument %d of %s is not known to be positive", k+1, prior.Density)
		}
	}
	return nil
}

// contains reports whether all values that c allows lie in the support.
func (s Support) contains(c Constraint) bool {
	switch s {
	case OnReals:
		return c.Kind != Simplex
	case OnPositive:
		return (c.Kind == Lower || c.Kind == Both) && c.Lower >= 0
	case OnInterval:
		return c.Kind == Both
	case OnUnit:
		return c.Kind == Both && c.Lower >= 0 && c.Upper <= 1
	case OnSimplex:
		return c.Kind == Simplex
	}
	return false
}
