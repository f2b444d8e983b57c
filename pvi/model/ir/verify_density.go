package ir

import (
	"fmt"
	"math"
)

// density checks a node that computes the log density of an outcome, and returns its phase and
// shape. It checks that the arguments are right, and that the outcome is data whose values all lie
// in the support.
func (v *Verified) density(n *Node) (typed, error) {
	d := Density(n.Ref)
	if n.Ref < 0 || n.Ref >= int(densities) || !densityTable[d].Record {
		return typed{}, fmt.Errorf("there is no such density of a record")
	}
	info := densityTable[d]
	if len(n.Args) != 1+len(info.Positive) {
		return typed{}, fmt.Errorf("%s needs an outcome and %d arguments", d, len(info.Positive))
	}
	y := n.Args[0]
	if v.phases[y] != Data {
		return typed{}, fmt.Errorf("the outcome of %s is %s value, not row data", d, v.phases[y])
	}
	phase, err := v.phase(n.Args)
	if err != nil {
		return typed{}, err
	}
	out := v.shapes[y]
	for k, a := range n.Args[1:] {
		if info.Positive[k] && !v.positive[a] {
			return typed{}, fmt.Errorf("argument %d of %s is not known to be positive", k+1, d)
		}
		if d == Categorical {
			continue
		}
		if out, err = broadcast(out, v.shapes[a]); err != nil {
			return typed{}, err
		}
	}
	return typed{phase, out, false}, v.outcome(d, n)
}

// outcome returns an error if the outcome of node n could lie outside the support of d.
func (v *Verified) outcome(d Density, n *Node) error {
	support := densityTable[d].Support
	if support == OnReals {
		return nil
	}
	top := 1.0
	switch support {
	case OnCounts:
		top = math.Inf(1)
	case OnClasses:
		s := v.shapes[n.Args[1]]
		if !s.vector() {
			return fmt.Errorf("the logits are not a vector")
		}
		top = float64(s.Rows - 1)
	}
	if r := v.ranges[n.Args[0]]; r.Whole && r.Low >= 0 && r.High <= top {
		return nil
	}
	return fmt.Errorf("the outcome of %s must have whole numbers with bounds in 0..%g", d, top)
}
