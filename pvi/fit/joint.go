package fit

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
	"fedpvi/pvi/hierarchy"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

// A roleOf is the role that a parameter plays in the prior when the posterior is computed from
// scores ([hierarchy.Joint]).
type roleOf int

const (
	normalRole roleOf = iota
	singleRole
	hyperRole
)

// A joint describes the joint prior of a program's parameters.
type joint struct {
	program *ir.Program
	shared  *model.Shared
	roles   []roleOf // role of each parameter
	reads   [][]int  // the parameters that each density depends on
}

// Joint returns the prior of a model that is given as a program. order lists the indices in θ of
// the prior's coordinates. The first ones, as many as observed says, are those that records depend
// on. For each of these, grouped reports whether its prior is normal and depends on other
// parameters, as that of a group effect does.
func (m *Model) Joint() (prior *hierarchy.Joint, order []int, observed int, grouped []bool, err error) {
	program := m.Program()
	j := &joint{program: program.Verified().Program(), shared: program.Shared()}
	j.assign()
	depends := program.Depends()
	var hyper []int
	var start [][2]float64
	role := make([]roleOf, 0, m.Dim()) // role of each coordinate of θ
	singles := make([]*hierarchy.Single, 0, m.Dim())
	for k := range j.program.Parameters {
		singles = append(singles, j.singles(k)...)
		role = append(role, slices.Repeat([]roleOf{j.roles[k]}, j.program.Parameters[k].Free())...)
	}
	place := make([]int, m.Dim()) // index in the prior of each coordinate of θ
	for _, seen := range []bool{true, false} {
		for k, q := range j.program.Parameters {
			if depends[k] != seen {
				continue
			}
			for e := range q.Free() {
				at := j.shared.Offset(k) + e
				place[at] = len(order)
				order = append(order, at)
				if seen {
					grouped = append(grouped, j.roles[k] == normalRole && len(j.reads[k]) > 0)
				}
			}
		}
		if seen {
			observed = len(order)
		}
	}
	ordered := make([]*hierarchy.Single, m.Dim())
	for i, at := range order {
		ordered[i] = singles[at]
		if role[at] == hyperRole {
			hyper = append(hyper, i)
			one := [2]float64{0, stickSD}
			if s := singles[at]; s != nil {
				one[0], one[1] = s.Moments()
				ordered[i] = nil
			}
			start = append(start, one)
		}
	}
	if most := m.Study.MostScored(); observed > most {
		return nil, nil, 0, nil, refused("%d coordinates on which records depend, and %d are possible", observed, most)
	}
	if len(hyper) > hierarchy.MostHyper {
		return nil, nil, 0, nil, refused("%d coordinates whose priors depend on each other otherwise than as means of normal priors, and %d are possible", len(hyper), hierarchy.MostHyper)
	}
	given := j.given(place, hyper)
	prior, err = hierarchy.NewJoint(len(order), observed, hyper, start, ordered, given)
	if err != nil {
		err = fmt.Errorf("the moments of the prior cannot be computed: %w", err)
	}
	return prior, order, observed, grouped, err
}

// checkScoring returns an error if the solver Scoring cannot fit the program of the study.
func (m *Model) checkScoring() error {
	if m.Study.Model.Program == nil || m.Study.Inference.Solver != study.Scoring {
		return nil
	}
	_, _, _, _, err := m.Joint()
	return err
}

// Multiplies reports whether the log density of records depends on a product with a factor that can
// be 0 for all records, such as a standard deviation times standardised effects. If the records say
// little about one of the factors, the log likelihood is far from quadratic.
func (m *Model) Multiplies() bool {
	if m.Study.Model.Program == nil {
		return false
	}
	v := m.Program().Verified()
	p := v.Program()
	moves := func(node int) bool { return v.Phase(node) == ir.Shared || v.Phase(node) == ir.Record }
	needed := p.Needed(p.Likelihood)
	vanishes := make([]bool, len(p.Nodes)) // whether setting certain parameters to 0 makes each node 0 for all records
	for i, n := range p.Nodes {
		of := func(k int) bool { return vanishes[n.Args[k]] }
		switch n.Op {
		case ir.Param:
			vanishes[i] = p.Parameters[n.Ref].Constraint.Kind == ir.Unconstrained
		case ir.Global, ir.Gather, ir.GatherRow, ir.Neg, ir.Sum, ir.Element, ir.Slice, ir.Div:
			vanishes[i] = of(0)
		case ir.Add, ir.Sub:
			vanishes[i] = of(0) && of(1)
		case ir.Linear, ir.MatVec, ir.Dot, ir.Mul:
			vanishes[i] = of(0) || of(1)
		case ir.Stack:
			vanishes[i] = !slices.ContainsFunc(n.Args, func(a int) bool { return !vanishes[a] })
		}
		if n.Op == ir.Mul && needed[i] && vanishes[i] && moves(n.Args[0]) && moves(n.Args[1]) {
			return true
		}
	}
	return false
}

// refused returns the error for a program for which the solver Scoring cannot compute intervals.
// format and args give the reason.
func refused(format string, args ...any) error {
	return fmt.Errorf("solver = %q cannot have honest intervals for this program: it has %s. Write inference.solver = %q, inference.intervals = %q and privacy.clip", study.Scoring, fmt.Sprintf(format, args...), study.DPSVI, study.NoIntervals)
}

// assign finds the role of each parameter. A parameter is normal if its density is normal and the
// mean is linear in other normal parameters. It is single if its density has constant arguments and
// no other density depends on it. All others are hyperparameters. So is each parameter that a
// factor, a standard deviation, a nonlinear mean, or the density of a hyperparameter depends on.
func (j *joint) assign() {
	n := len(j.program.Parameters)
	j.roles, j.reads = make([]roleOf, n), make([][]int, n)
	read := make([]bool, n)
	forced := make([]bool, n)
	force := func(node int) {
		for _, q := range j.shared.Path(node).Parameters {
			forced[q] = true
		}
	}
	for _, f := range j.program.Factors {
		force(f)
	}
	for _, p := range j.program.Priors {
		for k, arg := range p.Args {
			path := j.shared.Path(arg).Parameters
			for _, q := range path {
				read[q] = true
			}
			j.reads[p.Parameter] = append(j.reads[p.Parameter], path...)
			if k > 0 || p.Density != ir.Normal || !j.linear(arg) {
				force(arg)
			}
		}
	}
	for _, p := range j.program.Priors {
		k, c := p.Parameter, j.program.Parameters[p.Parameter].Constraint.Kind
		switch {
		case p.Density == ir.Normal && c == ir.Unconstrained && !forced[k]:
			j.roles[k] = normalRole
		case len(j.reads[k]) == 0 && !read[k] && !forced[k] && elementwise(c):
			j.roles[k] = singleRole
		default:
			j.roles[k] = hyperRole
			if p.Density == ir.Normal && len(p.Args) > 0 {
				force(p.Args[0])
			}
		}
	}
	// The density of a hyperparameter may depend only on other hyperparameters.
	for changed := true; changed; {
		changed = false
		for _, p := range j.program.Priors {
			if j.roles[p.Parameter] == normalRole {
				continue
			}
			for _, q := range j.reads[p.Parameter] {
				if j.roles[q] != hyperRole {
					j.roles[q], changed = hyperRole, true
				}
			}
		}
	}
}

func elementwise(c ir.ConstraintKind) bool { return c != ir.Simplex && c != ir.Ordered }

// linear reports whether node is a linear function of the coordinates that it depends on. It must
// be the same for all records.
func (j *joint) linear(node int) bool {
	path := j.shared.Path(node)
	for _, q := range path.Parameters {
		if j.program.Parameters[q].Constraint.Kind != ir.Unconstrained {
			return false
		}
	}
	var slopes [2][][]float64
	for n := range slopes {
		theta := make([]float64, j.shared.Dim())
		for i := range theta {
			theta[i] = float64(n) + math.Sin(float64(7*i+1))/3
		}
		j.shared.Set(theta)
		slopes[n] = j.slopes(path, node)
	}
	for e := range slopes[0] {
		for i, x := range slopes[0][e] {
			if y := slopes[1][e][i]; !(math.Abs(x-y) <= 1e-9*(math.Abs(x)+math.Abs(y))) {
				return false
			}
		}
	}
	return true
}

// slopes returns the gradient of each element of node with respect to θ, at the current point of
// j.shared.
func (j *joint) slopes(path *model.Path, node int) [][]float64 {
	out := make([][]float64, len(j.shared.Value[node]))
	for e := range out {
		out[e] = make([]float64, j.shared.Dim())
		j.shared.Slope(path, e, out[e])
	}
	return out
}

// singles returns the prior density of each coordinate of parameter k. It is nil for an element
// whose density depends on other coordinates or is normal.
func (j *joint) singles(k int) []*hierarchy.Single {
	out := make([]*hierarchy.Single, j.program.Parameters[k].Free())
	i := slices.IndexFunc(j.program.Priors, func(p ir.Prior) bool { return p.Parameter == k })
	p := &j.program.Priors[i]
	if j.roles[k] == normalRole || len(j.reads[k]) > 0 || !elementwise(j.program.Parameters[k].Constraint.Kind) {
		return out
	}
	same := true // whether the arguments are the same for all elements
	for _, arg := range p.Args {
		same = same && len(j.shared.Value[arg]) == 1
	}
	for e := range out {
		if e > 0 && same {
			out[e] = out[0]
			continue
		}
		out[e] = hierarchy.NewSingle(func(x float64) float64 { return j.shared.ElementPrior(p, e, x) })
	}
	return out
}

// given returns a function that computes the distribution of the normal coordinates, given the
// hyperparameters u. place[i] is the position of coordinate i of θ in the prior, and hyper lists
// the positions of the hyperparameters.
func (j *joint) given(place, hyper []int) func(u []float64) *hierarchy.Normals {
	d := len(place)
	at := make([]int, d) // the coordinate of θ at each position in the prior
	for i, k := range place {
		at[k] = i
	}
	row := make([]int, d) // index of each coordinate of θ when hyperparameters are left out, or −1
	for i := range row {
		row[i] = place[i]
		for _, h := range hyper {
			switch {
			case h == place[i]:
				row[i] = -1
			case h < place[i] && row[i] >= 0:
				row[i]--
			}
		}
	}
	var mu sync.Mutex // mu protects the evaluator
	return func(u []float64) *hierarchy.Normals {
		mu.Lock()
		defer mu.Unlock()
		shared := j.shared
		theta := make([]float64, d)
		for k, h := range hyper {
			theta[at[h]] = u[k]
		}
		shared.Set(theta)
		n := d - len(hyper)
		out := &hierarchy.Normals{Log: shared.LogPrior(nil), Mean: make([]float64, n), Root: mat.NewDense(max(n, 1), max(n, 1), nil)}
		slope := mat.NewDense(max(n, 1), max(n, 1), nil) // derivatives of the means with respect to the normal coordinates
		tied := false
		for _, p := range j.program.Priors {
			if j.roles[p.Parameter] != normalRole {
				continue
			}
			mean, sd := shared.Value[p.Args[0]], shared.Value[p.Args[1]]
			path := shared.Path(p.Args[0])
			for e := range j.program.Parameters[p.Parameter].Free() {
				i := row[shared.Offset(p.Parameter)+e]
				m, s := mean[min(e, len(mean)-1)], sd[min(e, len(sd)-1)]
				out.Log += m*m/(2*s*s) + math.Log(s) + special.HalfLogTwoPi
				out.Mean[i] = m
				out.Root.Set(i, i, s)
				if len(path.Parameters) == 0 {
					continue
				}
				gradient := make([]float64, d)
				shared.Slope(path, min(e, len(mean)-1), gradient)
				for c, g := range gradient {
					if g != 0 && row[c] >= 0 {
						slope.Set(i, row[c], g)
						tied = true
					}
				}
			}
		}
		if tied {
			untie(out, slope)
		}
		return out
	}
}

// untie finds the joint distribution of coordinates whose means depend linearly on each other. It
// replaces the mean m and the root S in g. If
//
//	θ = Mθ + m + Sz,
//
// then θ has the mean (I − M)⁻¹m and the root (I − M)⁻¹S. The inverse is the finite sum I + M + M²
// + …, because no chain of means is longer than the number of coordinates.
func untie(g *hierarchy.Normals, slope *mat.Dense) {
	n := len(g.Mean)
	mean, root := mat.NewVecDense(n, slices.Clone(g.Mean)), mat.DenseCopyOf(g.Root)
	for range n {
		var m mat.VecDense
		var r mat.Dense
		m.MulVec(slope, mean)
		r.Mul(slope, root)
		var moved float64
		for i := range n {
			x := g.Mean[i] + m.AtVec(i)
			moved = max(moved, math.Abs(x-mean.AtVec(i)))
			mean.SetVec(i, x)
			for k := range n {
				y := g.Root.At(i, k) + r.At(i, k)
				moved = max(moved, math.Abs(y-root.At(i, k)))
				root.Set(i, k, y)
			}
		}
		if moved == 0 {
			break
		}
	}
	copy(g.Mean, mean.RawVector().Data)
	g.Root = root
}
