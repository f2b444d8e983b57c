package ir

import (
	"fmt"
	"slices"
)

// A Law is a distribution that random numbers are drawn from.
type Law uint8

// The comments list the arguments of each law.
const (
	NoLaw       Law = iota
	NormalLaw       // arguments: mean, sd
	GammaLaw        // arguments: shape, rate
	PoissonLaw      // argument: mean
	BinomialLaw     // arguments: number of trials, probability
	laws
)

var lawArguments = [laws]int{NormalLaw: 2, GammaLaw: 2, PoissonLaw: 1, BinomialLaw: 2}

// draw checks a node that draws a random number, and returns the node's phase and shape.
func (v *Verified) draw(n *Node) (typed, error) {
	if n.Cols <= 0 || n.Cols >= int(laws) || len(n.Args) != lawArguments[n.Cols] {
		return typed{}, fmt.Errorf("there is no such law with %d arguments", len(n.Args))
	}
	if n.Rows != 0 && n.Rows != 1 {
		return typed{}, fmt.Errorf("a number is drawn once or for each record")
	}
	phase, err := v.phase(n.Args)
	if err != nil {
		return typed{}, err
	}
	t := typed{phase: Shared, shape: v.shapes[n.Args[0]]}
	if n.Rows == 1 {
		t.phase = Record
	}
	if phase != Fixed && (phase == Shared) != (t.phase == Shared) {
		return typed{}, fmt.Errorf("it draws %s value from %s value", t.phase, phase)
	}
	for _, a := range n.Args[1:] {
		if t.shape, err = broadcast(t.shape, v.shapes[a]); err != nil {
			return typed{}, err
		}
	}
	return t, nil
}

// generates reports whether a node may be used only for generated quantities. This is so if the
// node draws a random number, compares values that depend on parameters, or depends on such a node.
// The log density could not be differentiated through it.
func (v *Verified) generates(n *Node) bool {
	compared := n.Args
	switch n.Op {
	case Draw:
		return true
	case Select:
		compared = n.Args[:1]
	case Less, Equal:
	default:
		compared = nil
	}
	return slices.ContainsFunc(compared, func(a int) bool { return v.phases[a] == Shared || v.phases[a] == Record }) ||
		slices.ContainsFunc(n.Args, func(a int) bool { return v.generated[a] })
}

// checkGenerated returns an error if the log density, the prior or the prediction depends on a node
// that may be used only for generated quantities.
func (v *Verified) checkGenerated() error {
	if slices.ContainsFunc(v.program.Results(), func(i int) bool { return v.generated[i] }) {
		return fmt.Errorf("the log density or the prediction depends on a random number, or on a comparison with parameters")
	}
	for _, i := range v.program.Generated {
		if i < 0 || i >= len(v.phases) {
			return fmt.Errorf("a generated quantity is node %d, which does not exist", i)
		}
	}
	return nil
}
