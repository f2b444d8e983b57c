package scoring

import (
	"math"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/hierarchy"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A regression is the [likelihood] of a study whose predictors are linear in θ.
type regression struct {
	response  solver.Described
	columns   []column // the study's terms, followed by a column for each group of each effect
	effects   []fit.Effect
	first     []int // index of the first coordinate of each effect
	dim       int
	linear    bool    // whether the curvature is the same at every θ
	locations int     // number of predictors that depend on regressors
	scale     bool    // whether there is a predictor of the scale, which is the last coordinate of θ
	low, high float64 // bounds of the outcome on the model's scale
}

// takeRegression sets the model of p to a regression.
func (p *Problem) takeRegression(st *study.Study, m *fit.Model) error {
	r := &regression{linear: m.Linear() != nil, locations: m.Locations(), high: st.OutcomeBound()}
	var err error
	if r.response, err = m.Outcome().Described(); err != nil {
		return err
	}
	if st.Model.Kind() == study.Measured {
		r.low = -r.high
	}
	numbers := map[int]int{} // index of the regressor that is the study's column itself
	for c := range st.Coefficients() {
		if j := len(r.columns); len(c.Parts) == 1 && c.Parts[0].Level < 0 {
			numbers[c.Parts[0].Column] = j
		}
		r.columns = append(r.columns, newColumn(st, c, len(r.columns)))
	}
	r.effects = m.Effects()
	// indicators has the index in r.columns of the first column of each group term.
	indicators := map[int]int{}
	for _, e := range r.effects {
		if _, ok := indicators[e.Term]; !ok {
			indicators[e.Term] = len(r.columns)
		}
		r.addEffect(st, e, indicators[e.Term], numbers)
	}
	var prior *hierarchy.Prior
	prior, p.order = m.Hierarchy()
	p.prior, p.mean, p.sd = prior, prior.Mean, prior.SD
	r.dim = len(p.mean)
	r.scale = r.dim > r.locations*len(r.columns)
	p.grouped, p.spreads = make([]bool, r.dim), len(prior.Effects)
	for _, e := range prior.Effects {
		r.first = append(r.first, e.First)
		for i := e.First; i < e.First+e.Levels; i++ {
			p.grouped[i] = true
		}
	}
	p.model, p.columns, p.linear, p.counts = r, r.columns, r.linear, st.Model.Family == study.Poisson
	return nil
}

// addEffect adds a column for each group of an effect. indicator is the first column of the group
// term, and numbers maps the study's columns to regressors.
func (r *regression) addEffect(st *study.Study, e fit.Effect, indicator int, numbers map[int]int) {
	one := column{kind: level, factor: len(st.Columns) + e.Term, levels: e.Levels, high: 1, value: -1}
	if e.Slope >= 0 {
		source := &st.Columns[e.Column]
		one.kind, one.low, one.high = slope, st.Scale(source, source.Low), st.Scale(source, source.High)
		var ok bool
		if one.value, ok = numbers[e.Column]; !ok {
			one.value = len(r.columns) // not a regressor, so its margins are not released
		}
	}
	for k := range e.Levels {
		one.indicator = indicator + k
		r.columns = append(r.columns, one)
	}
}

// newColumn describes the regressor of a coefficient, at the given index. The bounds of a product
// follow from those of its factors.
func newColumn(st *study.Study, of study.Coefficient, index int) column {
	c := column{kind: number, low: 1, high: 1, indicator: -1, value: index}
	for _, part := range of.Parts {
		low, high := 0.0, 1.0
		if source := &st.Columns[part.Column]; part.Level < 0 {
			low, high = st.Scale(source, source.Low), st.Scale(source, source.High)
		}
		ends := [4]float64{c.low * low, c.low * high, c.high * low, c.high * high}
		c.low, c.high = math.Inf(1), math.Inf(-1)
		for _, x := range ends {
			c.low, c.high = min(c.low, x), max(c.high, x)
		}
	}
	switch {
	case len(of.Parts) == 0:
		c.kind, c.value = constant, -1
	case len(of.Parts) == 1 && of.Parts[0].Level >= 0:
		c.kind, c.factor, c.levels = level, of.Parts[0].Column, len(st.Columns[of.Parts[0].Column].Levels)
		c.indicator, c.value = index, -1
	}
	return c
}

// rows has the regressors and the outcomes of records of a regression.
type rows struct {
	*regression
	x func(scratch []float64, i int) []float64 // regressors of record i; the function may use scratch
	y func(i int) float64
	n int
}

func (r *rows) Len() int { return r.n }

// Rows returns records with the given regressors and outcomes. The model must be a regression.
func (p *Problem) Rows(x [][]float64, y []float64) Records {
	return &rows{p.model.(*regression), func(_ []float64, i int) []float64 { return x[i] }, func(i int) float64 { return y[i] }, len(y)}
}

func (r *regression) open(s *shard.Shard) (Records, error) {
	return &rows{r, func(scratch []float64, i int) []float64 {
		if len(r.effects) == 0 {
			row, _ := s.Record(i)
			return row
		}
		r.row(scratch, s, i)
		return scratch
	}, func(i int) float64 {
		_, y := s.Record(i)
		return y
	}, s.Len()}, nil
}

// row writes the regressors of record i to x. Effects of other groups are 0.
func (r *regression) row(x []float64, s *shard.Shard, i int) {
	row, _ := s.Record(i)
	clear(x[copy(x, row):])
	levels, slopes := s.Groups(i)
	for n, e := range r.effects {
		at := r.first[n] + int(levels[e.Term])
		if x[at] = 1; e.Slope >= 0 {
			x[at] = slopes[e.Slope]
		}
	}
}

func (r *rows) at(theta []float64) evaluator {
	return &evaluated{
		workspace: r.workspace(), rows: r, theta: theta, scratch: make([]float64, len(r.columns)),
		curved: r.newCurved(),
	}
}

// An evaluated is the evaluator of records of a regression at θ.
type evaluated struct {
	*workspace
	rows    *rows
	theta   []float64
	scratch []float64
	x       []float64
	y       float64
	curved  *curved
}

func (e *evaluated) record(i int) {
	e.x, e.y = e.rows.x(e.scratch, i), e.rows.y(i)
	e.predict(e.x, e.theta)
}

func (e *evaluated) margins() []float64 { return e.x }

func (e *evaluated) score(dst []float64) { e.workspace.score(dst, e.x, e.y) }

func (e *evaluated) residual() float64 { return e.workspace.residual(e.y) }

func (e *evaluated) curvature(units whitening) float64 {
	return e.curved.norm(e.workspace, e.x, units)
}

func (e *evaluated) packed(dst []float64, scale float64) {
	packSquare(dst, e.curved.factors, scale)
}

func (r *regression) predictors() int { return r.response.Size() }

// A workspace has scratch space for one record.
type workspace struct {
	*regression
	eta, g, h, w []float64
	root         []float64 // lower Cholesky root of the matrix w, row by row
	vector       []float64 // scratch space with an element for each coordinate of θ
	filled       []int     // indices of the regressors that are not 0
}

func (r *regression) workspace() *workspace {
	k := r.predictors()
	return &workspace{
		regression: r, eta: make([]float64, k), g: make([]float64, k), h: make([]float64, k*k),
		w: make([]float64, k*k), root: make([]float64, k*k), vector: make([]float64, r.dim),
	}
}

// predict writes the predictors at θ of a record with regressors x to s.eta.
func (s *workspace) predict(x, theta []float64) {
	for a := range s.locations {
		s.eta[a] = dot(theta[a*len(x):(a+1)*len(x)], x)
	}
	if s.scale {
		s.eta[s.locations] = theta[len(theta)-1]
	}
}

// spread writes to dst the gradient in θ of Σ_a weights[a]·η_a, where η_a is predictor a.
func (s *workspace) spread(dst, x, weights []float64) {
	for a := range s.locations {
		for j, v := range x {
			dst[a*len(x)+j] = weights[a] * v
		}
	}
	if s.scale {
		dst[len(dst)-1] = weights[s.locations]
	}
}

// score writes the gradient in θ for the predictors in s.eta to dst.
func (s *workspace) score(dst, x []float64, y float64) {
	s.response.Eval(y, s.eta, s.g, s.h)
	s.spread(dst, x, s.g)
}

// information computes s.w, the information about the predictors in s.eta, and its root s.root.
func (s *workspace) information() {
	s.response.Information(s.eta, s.w)
	rootOf(s.root, s.w, len(s.eta))
}

// rootOf writes the lower root of w to root. Pivots that are not positive count as zero.
func rootOf(root, w []float64, k int) {
	for a := range k {
		for b := range a + 1 {
			sum := w[a*k+b]
			for c := range b {
				sum -= root[a*k+c] * root[b*k+c]
			}
			switch {
			case a == b:
				root[a*k+a] = math.Sqrt(max(sum, 0))
			case root[b*k+b] > 0:
				root[a*k+b] = sum / root[b*k+b]
			default:
				root[a*k+b] = 0
			}
		}
	}
}

// factor writes column c of A to dst, where A Aᵀ is the information about θ.
func (s *workspace) factor(dst, x []float64, c int) {
	k := len(s.eta)
	for a := range k {
		s.g[a] = 0
		if a >= c {
			s.g[a] = s.root[a*k+c]
		}
	}
	s.spread(dst, x, s.g)
}
