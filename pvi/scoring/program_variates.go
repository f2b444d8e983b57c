package scoring

import (
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A variates describes the outcomes of records, which are variates of densities, such as y in y ~
// normal(m, s).
type variates struct {
	column []bool // whether each column of the program contains outcomes

	// density is the program from whose densities outcomes are drawn. It is the program of the
	// study without weights: the exponential of a weighted log density would not be a density.
	density *model.Model

	// rest is the program with 0 in place of the densities, or nil if that reads no outcome. An
	// outcome is drawn only if rest does not depend on it. For example, rest depends on a censored
	// survival time, because the program has a distribution function of it in place of a density.
	rest *model.Model

	// atoms[c] has the numbers with which the program compares column c. An outcome that is not a
	// whole number may equal one of them with a positive probability.
	atoms [][]float64

	// kinked reports whether the slope of the log likelihood jumps at some value of an outcome,
	// like that of a Laplace density at its location. Hessians miss the information in the jump.
	kinked bool
}

// mostOutcomes is the largest number of outcomes of a record. If there are more, all are drawn from
// the margins.
const mostOutcomes = 16

// kinks reports whether the slope of the log likelihood may jump at some value of an outcome,
// because of an absolute value, a maximum or a minimum that depends on an outcome and a parameter.
// outcomes marks the columns with outcomes; nil means all columns.
func kinks(m *model.Model, outcomes []bool) bool {
	p := m.Verified().Program()
	passes, reads := m.Verified().Differentiated(p.Likelihood), make([]bool, len(p.Nodes))
	for i, n := range p.Nodes {
		reads[i] = n.Op == ir.Col && (outcomes == nil || outcomes[n.Ref]) || slices.ContainsFunc(n.Args, func(a int) bool { return reads[a] })
		jumps := n.Op == ir.Abs || n.Op == ir.Max || n.Op == ir.Min
		if jumps && passes[i] && reads[i] {
			return true
		}
	}
	return false
}

// newVariates finds the outcomes of a program that can be drawn from the model. There are none if a
// record has more than mostOutcomes, or if the log likelihood is anything but sums, mixtures and
// choices of log densities.
func newVariates(m *model.Model) *variates {
	p := m.Verified().Program()
	v := &variates{column: make([]bool, len(p.Columns)), density: m, atoms: make([][]float64, len(p.Columns))}
	none := &variates{column: make([]bool, len(p.Columns)), density: m, atoms: v.atoms, kinked: kinks(m, nil)}
	term, variate, weights, ok := v.walk(m)
	if !ok {
		return none
	}
	width := 0
	for c, is := range variate {
		if v.column[c] = is; is {
			width += p.Columns[c].Width()
		}
	}
	if width == 0 || width > mostOutcomes {
		return none
	}
	v.kinked = kinks(m, v.column)
	v.findAtoms(p)
	var err error
	if len(weights) > 0 {
		if v.density, err = replaced(m, weights, nil); err != nil {
			return none
		}
	}
	if v.reads(p, term) {
		if v.rest, err = replaced(m, nil, term); err != nil {
			return none // without densities, the log likelihood would depend on no parameter
		}
	}
	return v
}

// walk finds the log densities whose sum is the log likelihood. term holds their nodes, and variate
// marks the columns that are variates of one. weights maps a log density multiplied by data, such
// as a weight, to the log density. ok is false if a density is used in any other way.
func (v *variates) walk(m *model.Model) (term map[int]bool, variate []bool, weights map[int]int, ok bool) {
	p, densities := m.Verified().Program(), m.Densities()
	const (
		asTerm = 1 << iota
		asOther
		asVariate
	)
	seen := make([]int, len(p.Nodes))
	seen[p.Likelihood] = asTerm
	term, variate, weights, ok = map[int]bool{}, make([]bool, len(p.Columns)), map[int]int{}, true
	for i, n := range slices.Backward(p.Nodes) {
		y, isDensity := densities[i]
		if isDensity && seen[i]&(asTerm|asOther) != 0 {
			ok = ok && seen[i]&asOther == 0
			term[i] = true
			seen[y] |= asVariate
			continue // a record may have several outcomes, and one may depend on another
		}
		args, others := seen[i], seen[i] // args marks arguments that are terms of the sum, others all other arguments
		if others&asTerm != 0 {
			others = others&^asTerm | asOther
		}
		terms := n.Args
		switch n.Op {
		case ir.Col:
			variate[n.Ref] = variate[n.Ref] || seen[i]&asVariate != 0
		case ir.Add, ir.Sub, ir.Max, ir.Sum, ir.LogSumExp, ir.Stack, ir.Element, ir.Slice, ir.Softplus:
		case ir.Select:
			terms = n.Args[1:]
		case ir.Gather, ir.GatherRow: // the index of an element of a table cannot be an outcome
			others, terms = others&^asVariate, nil
		case ir.Mul:
			terms = nil
			for k, a := range n.Args {
				if phase := m.Verified().Phase(a); seen[i]&asTerm != 0 && (phase == ir.Data || phase == ir.Fixed) {
					weights[i], terms = n.Args[1-k], n.Args[1-k:2-k]
				}
			}
		default:
			terms = nil
		}
		for _, a := range n.Args {
			if slices.Contains(terms, a) {
				seen[a] |= args
			} else {
				seen[a] |= others
			}
		}
	}
	above := make([]bool, len(p.Nodes)) // whether each node is or contains a term
	for i, n := range p.Nodes {
		above[i] = term[i] || slices.ContainsFunc(n.Args, func(a int) bool { return above[a] })
		if !above[i] {
			delete(weights, i)
		}
	}
	return term, variate, weights, ok
}

// reads reports whether the log likelihood depends on an outcome other than as the variate of a
// given density.
func (v *variates) reads(p *ir.Program, densities map[int]bool) bool {
	seen := make([]bool, len(p.Nodes))
	seen[p.Likelihood] = true
	for i, n := range slices.Backward(p.Nodes) {
		if !seen[i] || densities[i] {
			continue
		}
		if n.Op == ir.Col && v.column[n.Ref] {
			return true
		}
		for _, a := range n.Args {
			seen[a] = true
		}
	}
	return false
}

// findAtoms finds the constants with which the program compares columns of outcomes.
func (v *variates) findAtoms(p *ir.Program) {
	for _, n := range p.Nodes {
		if n.Op != ir.Equal {
			continue
		}
		for k, a := range n.Args {
			c, x := &p.Nodes[a], &p.Nodes[n.Args[1-k]]
			if c.Op != ir.Col || !v.column[c.Ref] || p.Columns[c.Ref].Integer || x.Op != ir.Const {
				continue
			}
			for _, value := range x.Values {
				if !slices.Contains(v.atoms[c.Ref], value) {
					v.atoms[c.Ref] = append(v.atoms[c.Ref], value)
				}
			}
		}
	}
}

// replaced returns the program with node replacement[i] for node i, and 0 for the nodes in zeros.
func replaced(m *model.Model, replacement map[int]int, zeros map[int]bool) (*model.Model, error) {
	out := *m.Verified().Program()
	out.Nodes = slices.Clone(out.Nodes)
	at := func(i int) int {
		for {
			other, ok := replacement[i]
			if !ok {
				return i
			}
			i = other
		}
	}
	for i := range out.Nodes {
		n := &out.Nodes[i]
		if zeros[i] {
			shape := m.Verified().Shape(i)
			*n = ir.Node{Op: ir.Const, Rows: shape.Rows, Cols: shape.Cols, Values: make([]float64, shape.Size())}
			continue
		}
		n.Args = slices.Clone(n.Args)
		for k, a := range n.Args {
			n.Args[k] = at(a)
		}
	}
	out.Likelihood = at(out.Likelihood)
	return model.New(out)
}
