package ir

import (
	"fmt"
	"math"
)

// Interval holds the possible values of a node: the numbers from Low to High or, if Whole is true,
// only the whole numbers among them.
type Interval struct {
	Low, High float64
	Whole     bool
}

// maxWhole is the largest absolute value up to which sums and products count as whole. Up to this
// value, floating-point arithmetic with whole numbers is exact.
const maxWhole = 1 << 53

var anything = Interval{Low: math.Inf(-1), High: math.Inf(1)}

// Of returns an interval that contains the results of o for all arguments in the given intervals.
// If the operation is unknown, the interval is unbounded.
func (o Op) Of(args ...Interval) Interval {
	switch o {
	case Less, Equal:
		return Interval{0, 1, true}
	case Element, Slice:
		return args[0]
	case Neg:
		return Interval{-args[0].High, -args[0].Low, args[0].Whole}
	case Abs:
		a := args[0]
		return Interval{max(0, a.Low, -a.High), max(-a.Low, a.High), a.Whole}
	case Stack:
		return union(args)
	case Select:
		return union(args[1:])
	case Add, Sub, Mul, Max, Min:
		return o.ofTwo(args[0], args[1])
	}
	return anything
}

func (o Op) ofTwo(a, b Interval) Interval {
	r := Interval{Whole: a.Whole && b.Whole}
	switch o {
	case Add:
		r.Low, r.High = a.Low+b.Low, a.High+b.High
	case Sub:
		r.Low, r.High = a.Low-b.High, a.High-b.Low
	case Max:
		r.Low, r.High = max(a.Low, b.Low), max(a.High, b.High)
	case Min:
		r.Low, r.High = min(a.Low, b.Low), min(a.High, b.High)
	default: // the operation must be Mul
		ends := [4]float64{a.Low * b.Low, a.Low * b.High, a.High * b.Low, a.High * b.High}
		r.Low, r.High = min(ends[0], ends[1], ends[2], ends[3]), max(ends[0], ends[1], ends[2], ends[3])
	}
	if math.IsNaN(r.Low) || math.IsNaN(r.High) {
		return anything
	}
	r.Whole = r.Whole && r.Low >= -maxWhole && r.High <= maxWhole
	return r
}

func union(all []Interval) Interval {
	r := all[0]
	for _, a := range all[1:] {
		r = Interval{min(r.Low, a.Low), max(r.High, a.High), r.Whole && a.Whole}
	}
	return r
}

// IntervalOf returns the smallest interval that contains the given constants.
func IntervalOf(values []float64) Interval {
	r := Interval{math.Inf(1), math.Inf(-1), true}
	for _, x := range values {
		r = Interval{min(r.Low, x), max(r.High, x), r.Whole && x == math.Trunc(x)}
	}
	return r
}

// interval returns an interval that contains all possible values of a node. It is unbounded if the
// node depends on parameters.
func (v *Verified) interval(n *Node, phase Phase) Interval {
	if phase != Fixed && phase != Data {
		return anything
	}
	switch n.Op {
	case Const:
		return IntervalOf(n.Values)
	case Col:
		c := &v.program.Columns[n.Ref]
		return Interval{c.Lower, c.Upper, c.Integer}
	case Gather, GatherRow:
		return v.ranges[n.Args[0]]
	}
	args := make([]Interval, len(n.Args))
	for k, a := range n.Args {
		args[k] = v.ranges[a]
	}
	return n.Op.Of(args...)
}

// choice returns the shape of a Select, and whether its values are known to be positive.
func (v *Verified) choice(n *Node) (Shape, bool, error) {
	mask, a, b := n.Args[0], n.Args[1], n.Args[2]
	size, err := broadcast(v.shapes[a], v.shapes[b])
	if err == nil && !v.shapes[mask].scalar() && v.shapes[mask] != size {
		err = fmt.Errorf("the shapes of its arguments do not fit")
	}
	return size, v.positive[a] && v.positive[b], err
}
