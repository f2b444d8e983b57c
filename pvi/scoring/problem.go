package scoring

import (
	"errors"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/hierarchy"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Problem is the public description of a regression and of its federation.
type Problem struct {
	Digest   [32]byte // digest of the protocol, from which public random numbers are made
	Rounds   int      // number of rounds; the last one releases curvature alone
	Clients  int
	Records  float64 // number of records of all clients: first the nominal number, later an estimate from the counts
	NoiseSD  float64 // sd of the noise in the sum over all clients, if a single release with clip 1 spent the whole budget
	nominal  float64 // nominal number of records of all clients
	response solver.Described
	linear   bool // whether the curvature is independent of θ
	counts   bool // whether the outcomes are counts whose variance the model takes to be their mean

	budget    budget
	columns   []column // regressors: those of the study's terms, and then one for each effect of each group
	effects   []fit.Effect
	prior     *hierarchy.Prior
	order     []int   // by coordinate, its index in the study's θ; after them those of the spreads of effects
	locations int     // number of predictors that depend on regressors
	scale     bool    // whether there is a predictor of the scale; its coordinate of θ is the last
	low, high float64 // bounds of the outcome on the model's scale
	mean, sd  []float64
}

// A column describes a regressor with public information. It is the product of an indicator and
// a value, of which a column may have either, both, or none.
type column struct {
	kind      kind
	factor    int // for a level: a number that the levels of the same factor have
	levels    int // for a level: number of levels of that factor, including the baseline
	low, high float64

	indicator int // column whose indicator is a factor of this one; −1 for none
	value     int // column whose value is a factor of this one; −1 for none
}

type kind int

const (
	constant kind = iota
	level         // indicator of a level of a categorical column, or of a group
	number
	slope // a number within one group, and 0 elsewhere
)

// NewProblem returns the problem of a study. The caller must then call [Problem.SetNoise].
func NewProblem(st *study.Study, m *fit.Model, clients int, digest [32]byte) (*Problem, error) {
	if st.Federation.NominalRecords == 0 {
		return nil, errors.New("federation.nominal_records is missing: write the number of records that a client has, roughly; steps and clips follow from it")
	}
	p := &Problem{
		Digest: digest, Rounds: st.Inference.Rounds, Clients: clients,
		Records: float64(st.Federation.NominalRecords) * float64(clients),
		linear:  m.Linear() != nil, counts: st.Model.Family == study.Poisson, locations: m.Locations(), high: st.OutcomeBound(),
	}
	p.nominal = p.Records
	var err error
	if p.response, err = m.Outcome().Described(); err != nil {
		return nil, err
	}
	if st.Model.Kind() == study.Measured {
		p.low = -p.high
	}
	numbers := map[int]int{} // columns of the study's data that are regressors by themselves
	for c := range st.Coefficients() {
		if j := len(p.columns); len(c.Parts) == 1 && c.Parts[0].Level < 0 {
			numbers[c.Parts[0].Column] = j
		}
		p.columns = append(p.columns, newColumn(st, c, len(p.columns)))
	}
	p.effects = m.Effects()
	indicators := map[int]int{} // by group term, the columns of its first effect
	for _, e := range p.effects {
		if _, ok := indicators[e.Term]; !ok {
			indicators[e.Term] = len(p.columns)
		}
		p.addEffect(st, e, indicators[e.Term], numbers)
	}
	p.prior, p.order = m.Hierarchy()
	p.mean, p.sd = p.prior.Mean, p.prior.SD
	p.scale = len(p.mean) > p.locations*len(p.columns)
	return p, nil
}

// addEffect adds the columns of an effect, one for each group. indicator is the first column of
// the group term, and numbers has the columns of the study's data that are regressors by
// themselves.
func (p *Problem) addEffect(st *study.Study, e fit.Effect, indicator int, numbers map[int]int) {
	one := column{kind: level, factor: len(st.Columns) + e.Term, levels: e.Levels, high: 1, value: -1}
	if e.Slope >= 0 {
		source := &st.Columns[e.Column]
		one.kind, one.low, one.high = slope, st.Scale(source, source.Low), st.Scale(source, source.High)
		var ok bool
		if one.value, ok = numbers[e.Column]; !ok {
			one.value = len(p.columns) // nothing is released about the column
		}
	}
	for k := range e.Levels {
		one.indicator = indicator + k
		p.columns = append(p.columns, one)
	}
}

// newColumn returns the description of a coefficient's regressor, which is column at. A product is a number whose
// bounds follow from those of its factors.
func newColumn(st *study.Study, of study.Coefficient, at int) column {
	c := column{kind: number, low: 1, high: 1, indicator: -1, value: at}
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
		c.indicator, c.value = at, -1
	}
	return c
}

// Dim returns d, the number of coordinates of θ on which records depend: the coefficients, the
// effects of groups, and the scale. The spreads of effects are not among them.
func (p *Problem) Dim() int { return len(p.mean) }

// Row writes the regressors of record i to x, which must have the length [Problem.Regressors],
// and returns the record's outcome. Those of the effects of other groups are 0.
func (p *Problem) Row(x []float64, s *shard.Shard, i int) (y float64) {
	row, y := s.Record(i)
	clear(x[copy(x, row):])
	levels, slopes := s.Groups(i)
	for n, e := range p.effects {
		at := p.prior.Effects[n].First + int(levels[e.Term])
		if x[at] = 1; e.Slope >= 0 {
			x[at] = slopes[e.Slope]
		}
	}
	return y
}

// Regressors returns the number of a record's regressors.
func (p *Problem) Regressors() int { return len(p.columns) }

// predictors returns the number of a record's predictors.
func (p *Problem) predictors() int { return p.response.Size() }

// normals returns n standard normal numbers. They follow from the protocol, the purpose and the
// number, so that every machine computes the same.
func (p *Problem) normals(n int, purpose string, number int) []float64 {
	z := make([]float64, n)
	dpmech.FillPublicNormal(z, "scoring: "+purpose, p.Digest, number)
	return z
}

// precision returns the precision of the prior of coordinate i.
func (p *Problem) precision(i int) float64 { return 1 / (p.sd[i] * p.sd[i]) }

// A workspace has the memory for computations on one record.
type workspace struct {
	*Problem
	eta, g, h, w []float64
	root         []float64 // lower Cholesky root of w, by rows
	vector       []float64 // scratch of length d
}

func (p *Problem) workspace() *workspace {
	k := p.predictors()
	return &workspace{
		Problem: p, eta: make([]float64, k), g: make([]float64, k), h: make([]float64, k*k),
		w: make([]float64, k*k), root: make([]float64, k*k), vector: make([]float64, p.Dim()),
	}
}

// predict writes the predictors of a record with regressors x at θ to eta.
func (s *workspace) predict(x, theta []float64) {
	for a := range s.locations {
		var sum float64
		for j, t := range theta[a*len(x) : (a+1)*len(x)] {
			sum += t * x[j]
		}
		s.eta[a] = sum
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

// score writes the gradient of the log likelihood of a record at eta to dst.
func (s *workspace) score(dst, x []float64, y float64) {
	s.response.Eval(y, s.eta, s.g, s.h)
	s.spread(dst, x, s.g)
}

// information writes the information of a record at eta in its predictors to w, and its root.
func (s *workspace) information() {
	s.response.Information(s.eta, s.w)
	rootOf(s.root, s.w, len(s.eta))
}

// rootOf writes the lower Cholesky root of the k×k matrix w to root. A pivot that is not positive
// counts as zero.
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

// factor writes to dst column c of A, where A Aᵀ is the information of the record in θ.
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
