package fit

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

// A layout says where in θ the parameters of each kind begin.
type layout struct {
	regressors   ir.Names   // names of the regressors in the order of the terms
	coefficients int        // number of coefficients in one predictor; the first has index 0
	classes      int        // number of predictors; their coefficients follow one another
	scale        int        // index of the log standard deviation of the noise, or of the log dispersion; −1 if there is none
	groups       [][]Effect // effects of each group term
}

// New returns the model of a study.
func New(st *study.Study) (*Model, error) {
	m := &Model{Study: st}
	m.predictors = sync.OnceValue(func() *model.Predictors { return m.Program().Predictors() })
	m.layout.scale = -1
	m.layout.classes = 1
	if st.Model.Family == study.Softmax {
		c, _ := st.Column(st.Model.Outcome)
		m.layout.classes = len(c.Levels) - 1
	}
	if st.Model.Absent() {
		return m, nil
	}
	m.layout.regressors = regressors(st)
	m.layout.coefficients = m.layout.regressors.Len() + len(st.Model.Variables) + m.numbers()
	if m.General() {
		var err error
		if m.program, err = m.build(); err != nil {
			return nil, err
		}
		m.takeParameters()
		if err := m.checkScoring(); err != nil {
			return nil, err
		}
		return m, nil
	}
	m.addCoefficients()
	if m.Centred() {
		m.addGroups()
	}
	m.addScale()
	if !m.Centred() {
		m.addGroups()
	}
	program, err := m.build()
	if err != nil {
		return nil, err
	}
	if m.Dim() <= keptProgram {
		m.program = program
	}
	if !st.Model.Conjugate() {
		return m, nil
	}
	prior := make([]model.Normal, 0, m.Dim())
	for _, p := range m.Parameters.All() {
		prior = append(prior, model.Normal{Mean: p.Prior.Mean, SD: p.Prior.SD})
	}
	m.linear, err = model.NewLinear(m.Names(), prior, m.NoiseSD())
	return m, err
}

// regressors returns the names of the terms' coefficients. It stops at the first name that is too
// long for a program, because millions of unused names might follow.
func regressors(st *study.Study) ir.Names {
	return ir.CollectNames(func(yield func(string) bool) {
		for c := range st.Coefficients() {
			if !yield(c.Name) || len(c.Name) > ir.MaxName {
				return
			}
		}
	})
}

func (m *Model) addCoefficients() {
	st, names := m.Study, m.layout.regressors
	n := names.Len()
	prior := priors(st, names)
	one := func(k int) Parameter { return Parameter{Name: names.At(k), Prior: prior(k), About: "coefficient"} }
	if st.Model.Family == study.Softmax {
		outcome, _ := st.Column(st.Model.Outcome)
		classes := make([]ir.Names, m.layout.classes)
		about := make([]string, m.layout.classes)
		for i, class := range outcome.Levels[1:] {
			classes[i] = names.After(class + oddsOf)
			about[i] = fmt.Sprintf("coefficient of the log odds of %s against %s", class, outcome.Levels[0])
		}
		one = func(k int) Parameter {
			return Parameter{Name: classes[k/n].At(k % n), Prior: prior(k), About: about[k/n]}
		}
	}
	m.Parameters.addAll(n*m.layout.classes, one, prior)
}

// priors returns a function for the prior of coefficient k, where k counts the coefficients of all
// classes. names holds the names for one class.
func priors(st *study.Study, names ir.Names) func(k int) study.Normal {
	n, common := names.Len(), study.Normal{Mean: st.Prior.Mean, SD: st.Prior.SD}
	others := map[int]study.Normal{}
	for k := range n {
		if p := st.Prior.For(names.At(k)); p != common {
			others[k] = p
		}
	}
	if len(others) == 0 {
		return func(int) study.Normal { return common }
	}
	return func(k int) study.Normal {
		if p, ok := others[k%n]; ok {
			return p
		}
		return common
	}
}

// oddsOf separates the class from the term in the names of log odds coefficients.
const oddsOf = "|"

func (m *Model) addGroups() {
	st := m.Study
	slopes := 0
	for term, g := range st.Model.Groups {
		c, _ := st.Column(g.By)
		var effects []Effect
		for _, effect := range g.Effects() {
			what := g.By
			e := Effect{Term: term, Levels: len(c.Levels), Slope: -1, Column: -1}
			if effect != study.Intercept {
				what = g.By + ":" + effect
				e.Slope, e.Column = slopes, st.ColumnIndex(effect)
				slopes++
			}
			spread := Parameter{Name: "sd(" + what + ")", About: fmt.Sprintf("spread of the %s between levels of %s", effectName(effect), g.By)}
			if m.Centred() {
				spread.HalfNormal = st.Prior.Spread
				spread.Prior = study.Normal{Mean: st.Prior.Spread * math.Sqrt(2/math.Pi), SD: st.Prior.Spread * math.Sqrt(1-2/math.Pi)}
			} else {
				spread.Log, spread.Prior = true, st.Prior.Scale.Normal()
			}
			e.Spread = m.Parameters.add(spread)
			prior := m.effectPrior()
			e.First = m.Parameters.addAll(len(c.Levels), func(k int) Parameter {
				about := fmt.Sprintf("how far the %s of %s is from the mean over levels", effectName(effect), c.Levels[k])
				if m.Centred() {
					return Parameter{Name: fmt.Sprintf("effect(%s)[%s]", what, c.Levels[k]), Prior: prior, Spread: "sd(" + what + ")", About: about}
				}
				return Parameter{Name: fmt.Sprintf("z(%s)[%s]", what, c.Levels[k]), Prior: prior, About: about + ", in units of their spread"}
			}, func(int) study.Normal { return prior })
			effects = append(effects, e)
		}
		m.layout.groups = append(m.layout.groups, effects)
	}
}

// Centred reports whether group coordinates are the effects themselves, and not effects divided by
// their standard deviation. The solver Scoring needs this: the likelihood of a record then does not
// depend on the standard deviation, which the server learns from released sums.
//
// In a centred model the coordinate of the scale comes after those of the groups.
func (m *Model) Centred() bool {
	return m.Study.Inference.Solver == study.Scoring && len(m.Study.Model.Groups) > 0
}

// effectPrior returns the normal prior of a group coordinate. A centred effect is normal only given
// its standard deviation. In that case the result has the same mean and variance as the effect's
// prior.
func (m *Model) effectPrior() study.Normal {
	if !m.Centred() {
		return study.Normal{SD: 1}
	}
	return study.Normal{SD: m.Study.Prior.Spread}
}

// An Effect is an intercept or a slope that varies between the levels of a column.
type Effect struct {
	Term   int // index of the group term
	Spread int // index in θ of the effect's standard deviation between levels, or of its log
	First  int // index in θ of the first level's effect; those of the other levels follow
	Levels int // number of levels
	Slope  int // index of the slope's value among the slopes of a record; −1 for the intercept
	Column int // index of the column in the study; −1 for the intercept
}

// Effects returns the effects that vary between groups, term by term.
func (m *Model) Effects() []Effect { return slices.Concat(m.layout.groups...) }

// Spread returns the index in θ of the standard deviation of centred effect i. ok is false for all
// other coordinates, whose priors do not depend on θ.
func (m *Model) Spread(i int) (spread int, ok bool) {
	if !m.Centred() {
		return 0, false
	}
	for _, e := range m.Effects() {
		if i >= e.First && i < e.First+e.Levels {
			return e.Spread, true
		}
	}
	return 0, false
}

func effectName(effect string) string {
	if effect == study.Intercept {
		return effect
	}
	return "slope of " + effect
}

// Dim returns the dimension of θ.
func (m *Model) Dim() int { return m.Parameters.Len() }

// Names returns the names of the parameters, in the order of θ.
func (m *Model) Names() []string {
	names := make([]string, m.Parameters.Len())
	for i, p := range m.Parameters.All() {
		names[i] = p.Name
	}
	return names
}

// NaturalPrior returns the natural parameters of the prior of coordinate i, which is independent of
// the others.
func (m *Model) NaturalPrior(i int) (h, precision float64) {
	own := m.Parameters.Prior(i)
	precision = 1 / (own.SD * own.SD)
	return precision * own.Mean, precision
}

// CheckPrior returns the same error as Prior for a diagonal family, but does not build the prior.
func (m *Model) CheckPrior() error {
	for i := range m.Dim() {
		h, precision := m.NaturalPrior(i)
		if err := gaussian.CheckCoordinate(i, h, precision); err != nil {
			return fmt.Errorf("prior: %w", err)
		}
	}
	return nil
}

// Prior returns the natural parameters of the prior in the given family.
func (m *Model) Prior(family gaussian.Family) ([]float64, error) {
	mean := make([]float64, m.Dim())
	for i := range mean {
		mean[i] = m.Parameters.Prior(i).Mean
	}
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean, covariance{&m.Parameters}); err != nil {
		return nil, fmt.Errorf("prior: %w", err)
	}
	return natural, nil
}
