package fit

import (
	"fmt"
	"math"
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

// build builds the record program of the study, whose parameters have the order of m.Parameters.
func (m *Model) build() (*model.Model, error) {
	switch m.Study.Model.Family {
	case study.Mixture:
		return m.mixture()
	case study.NeuralNetwork:
		return m.network()
	case study.ByProgram:
		return m.compile()
	}
	return m.regressionProgram()
}

func (m *Model) regressors(b *model.Builder) model.Expr {
	squares, _ := m.Study.RegressorBounds()
	bound := rounded * math.Sqrt(squares) // upper bound on each regressor
	return b.Column(ir.Column{Name: "x", Entries: m.layout.regressors, Lower: -bound, Upper: bound})
}

func (m *Model) coefficients(b *model.Builder) model.Distribution {
	mean, sd := make([]float64, m.layout.coefficients), make([]float64, m.layout.coefficients)
	for i := range mean {
		p := m.Parameters.Prior(i)
		mean[i], sd[i] = p.Mean, p.SD
	}
	return b.Of(ir.Normal, b.Numbers(mean...), b.Numbers(sd...))
}

// scalar declares coordinate i of θ and returns its parameter. This is the coordinate itself, its
// exponential if the coordinate is a logarithm, or its absolute value if the prior is half-normal.
func (m *Model) scalar(b *model.Builder, i int) model.Expr {
	p := m.Parameters.At(i)
	name := p.Name
	if p.HalfNormal > 0 {
		spread := b.Apply(ir.Abs, b.Scalar(name, model.Free, b.Normal(model.Normal{SD: p.HalfNormal})))
		return b.Apply(ir.Max, spread, b.Number(leastSpread)) // a scale must be positive
	}
	if p.Log {
		name = "log " + name
	}
	e := b.Scalar(name, model.Free, b.Normal(model.Normal{Mean: p.Prior.Mean, SD: p.Prior.SD}))
	if p.Log {
		e = b.Apply(ir.Exp, e)
	}
	return e
}

// leastSpread is the smallest standard deviation of group effects in a record program, because a
// scale must be positive.
const leastSpread = 1e-100

func (m *Model) regressionProgram() (*model.Model, error) {
	st := m.Study
	b := model.NewBuilder(string(st.Model.Family) + " regression")
	y := m.outcomeColumn(b)
	x := m.regressors(b)
	eta := m.location(b, x)
	var scale model.Expr
	if m.layout.scale >= 0 && !m.Centred() {
		scale = m.scalar(b, m.layout.scale)
	}
	for g, effects := range m.layout.groups {
		eta = b.Add(eta, m.varying(b, st.Model.Groups[g].By, effects))
	}
	if m.layout.scale >= 0 && m.Centred() {
		scale = m.scalar(b, m.layout.scale)
	}
	if sd := m.NoiseSD(); sd > 0 {
		scale = b.Number(sd)
	}
	return b.Build(m.Outcome().Response().Program(b, y, eta, scale))
}

func (m *Model) addScale() {
	if scale, prior, ok := m.Study.LearnedScale(); ok {
		m.layout.scale = m.Parameters.add(Parameter{Name: scale.Name, Log: true, Prior: prior.Normal(), About: scale.About})
	}
}

func (m *Model) outcomeColumn(b *model.Builder) model.Expr {
	st := m.Study
	switch st.Model.Kind() {
	case study.Binary:
		return b.Integer(st.Model.Outcome, 0, 1)
	case study.Count, study.Class:
		return b.Integer(st.Model.Outcome, 0, st.OutcomeBound())
	}
	return b.Real(st.Model.Outcome, -rounded*st.OutcomeBound(), rounded*st.OutcomeBound())
}

// rounded is the factor by which the bounds of a program's columns are widened. Without it,
// rounding might move the scaled value of a public bound beyond the scaled bound.
const rounded = 1 + 1e-9

// varying declares the parameters of a group term, and returns the sum of the term's effects.
func (m *Model) varying(b *model.Builder, by string, effects []Effect) model.Expr {
	c, _ := m.Study.Column(by)
	index := b.Integer("level of "+by, 0, float64(len(c.Levels)-1))
	var sum model.Expr
	for k, e := range effects {
		spread := m.scalar(b, e.Spread)
		name := m.Parameters.At(e.Spread).Name
		var term model.Expr
		if m.Centred() {
			term = b.Gather(b.Vector(name+" effects", c.Levels, model.Free, b.Of(ir.Normal, b.Number(0), spread)), index)
		} else {
			z := b.Vector(name+" units", c.Levels, model.Free, b.Normal(model.Normal{SD: 1}))
			term = b.Gather(b.Mul(spread, z), index)
		}
		if e.Column >= 0 {
			slope := &m.Study.Columns[e.Column]
			low, high := m.Study.Scale(slope, slope.Low), m.Study.Scale(slope, slope.High)
			term = b.Mul(term, b.Real(slope.Name+" within "+by, low, high))
		}
		if k == 0 {
			sum = term
		} else {
			sum = b.Add(sum, term)
		}
	}
	return sum
}

// location declares the coefficients, and returns the linear predictor of the location or the log
// odds of all classes.
func (m *Model) location(b *model.Builder, x model.Expr) model.Expr {
	if m.Study.Model.Kind() != study.Class {
		beta := ir.Parameter{Name: "beta", Rows: m.layout.coefficients, Cols: 1, Entries: m.layout.regressors}
		return b.Linear(x, b.Parameter(beta, m.coefficients(b)))
	}
	outcome, _ := m.Study.Column(m.Study.Model.Outcome)
	logits := []model.Expr{b.Number(0)}
	prior := m.coefficients(b)
	for _, class := range outcome.Levels[1:] {
		beta := ir.Parameter{
			Name: "beta " + class, Rows: m.layout.coefficients, Cols: 1,
			Entries: m.layout.regressors.After(class + oddsOf),
		}
		logits = append(logits, b.Linear(x, b.Parameter(beta, prior)))
	}
	return b.Apply(ir.Stack, logits...)
}

// mixture builds a Gaussian mixture. The prior means of the components are the points that the
// study gives, or points on the diagonal of the box of the public bounds, so that the components
// can be told apart. The log density of record n is
//
//	ℓ_n = log Σ_k w_k Π_v N(x_nv | μ_kv, s_kv²).
//
// If the sd is known, the weights are equal.
func (m *Model) mixture() (*model.Model, error) {
	st := m.Study
	k := st.Model.Components
	b := model.NewBuilder("Gaussian mixture")
	bound := 0.0
	for _, name := range st.Model.Variables {
		c, _ := st.Column(name)
		bound = max(bound, math.Abs(st.Scale(c, c.Low)), math.Abs(st.Scale(c, c.High)))
	}
	x := b.Reals("x", st.Model.Variables, -bound, bound)
	known := st.Model.ClusterSD > 0
	var terms model.Expr
	if known {
		terms = b.Numbers(slices.Repeat([]float64{-math.Log(float64(k))}, k)...)
	} else {
		weights := b.Parameter(ir.Parameter{Name: "weight", Rows: k, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex}}, b.Of(ir.Dirichlet, b.Number(1)))
		terms = b.Apply(ir.Log, weights)
	}
	var centres []float64
	for c := range k {
		centres = append(centres, st.Prior.Mean+bound*(2*float64(c)+1-float64(k))/float64(k))
	}
	var components []string
	for c := range k {
		components = append(components, string(rune('A'+c%26)))
	}
	scale := st.Prior.Scale.Normal()
	said := 0
	for v, name := range st.Model.Variables {
		means, sds := slices.Clone(centres), slices.Repeat([]float64{st.Prior.SD}, k)
		for c, component := range components {
			if prior, ok := st.Prior.Coefficients[fmt.Sprintf("mean %s[%s]", name, component)]; ok {
				means[c], sds[c] = prior.Mean, prior.SD
				said++
			}
		}
		mean := b.Vector("mean "+name, components, model.Free, b.Of(ir.Normal, b.Numbers(means...), b.Numbers(sds...)))
		sd := b.Number(st.Model.ClusterSD)
		if !known {
			sd = b.Apply(ir.Exp, b.Vector("log sd "+name, components, model.Free, b.Normal(model.Normal{Mean: scale.Mean, SD: scale.SD})))
		}
		terms = b.Add(terms, b.LogDensity(ir.Normal, b.Element(x, v), mean, sd))
	}
	if said < len(st.Prior.Coefficients) {
		return nil, fmt.Errorf("study %s: prior.coefficients names something else than means of clusters, such as %q", st.Name, fmt.Sprintf("mean %s[%s]", st.Model.Variables[0], components[0]))
	}
	return b.Build(b.Apply(ir.LogSumExp, terms))
}

// network builds a Bayesian neural network with one hidden layer of tanh units. The priors of
// weights are scaled by the square root of the number of a unit's inputs.
func (m *Model) network() (*model.Model, error) {
	st := m.Study
	hidden := st.Model.Hidden
	b := model.NewBuilder("neural network with one hidden layer")
	y := m.outcomeColumn(b)
	x := m.regressors(b)
	inputs := m.layout.coefficients
	prior := func(fan int) model.Distribution {
		return b.Normal(model.Normal{Mean: 0, SD: st.Prior.SD / math.Sqrt(float64(fan))})
	}
	w := b.Parameter(ir.Parameter{Name: "W", Rows: hidden, Cols: inputs}, prior(inputs))
	bias := b.Parameter(ir.Parameter{Name: "b", Rows: hidden, Cols: 1}, prior(1))
	v := b.Parameter(ir.Parameter{Name: "v", Rows: hidden, Cols: 1}, prior(hidden))
	c := b.Scalar("c", model.Free, prior(1))
	eta := b.Add(b.Apply(ir.Dot, b.Apply(ir.Tanh, b.Dense(w, bias, x)), v), c)
	if st.Model.Kind() == study.Binary {
		b.Predict(ir.Probability, y, b.Apply(ir.InvLogit, eta))
		return b.Build(b.LogDensity(ir.BernoulliLogit, y, eta))
	}
	scale := st.Prior.Scale.Normal()
	sigma := b.Apply(ir.Exp, b.Scalar("log noise_sd", model.Free, b.Normal(model.Normal{Mean: scale.Mean, SD: scale.SD})))
	b.Predict(ir.Mean, y, eta)
	return b.Build(b.LogDensity(ir.Normal, y, eta, sigma))
}
