package study

import "slices"

// Model says what is estimated.
type Model struct {
	Family   Family
	Outcome  string // the name of a column; empty for a mixture
	Positive *Event // of an outcome that is there or not; nil for others
	Terms    []Term // in the order of the document, the intercept first
	OneHot   bool   // a categorical column has an indicator for every level, not only for those after the first
	Groups   []Group

	Standardise bool    // numeric columns are mapped to [-1, 1] by their bounds; default true
	MaxNorm     float64 // to which the regressors of a record are scaled down, on the model's scale; 0 for none
	NoiseSD     float64 // of a linear model whose noise is known; 0 if it is learned

	DegreesOfFreedom float64  // of robust regression
	Hidden           int      // units of a neural network's hidden layer
	Components       int      // of a mixture
	Variables        []string // columns that a mixture describes
	ClusterSD        float64  // of a mixture of clusters of equal weight and one known sd, on the model's scale; 0 if both are learned
}

// A Family is a kind of likelihood.
type Family string

const (
	Linear           Family = "linear"            // a normal outcome
	Logistic         Family = "logistic"          // an outcome that is there or not
	Probit           Family = "probit"            // the same with a normal link
	Poisson          Family = "poisson"           // a count
	NegativeBinomial Family = "negative-binomial" // a count that varies more
	Softmax          Family = "softmax"           // one of several levels
	Robust           Family = "robust"            // a Student-t outcome
	Mixture          Family = "mixture"           // normal clusters of several columns, without an outcome
	NeuralNetwork    Family = "neural-network"    // one hidden layer
)

// An OutcomeKind is what the outcome of a record is to the model.
type OutcomeKind int

const (
	Measured OutcomeKind = iota // a number, on the scale of the model
	Binary                      // 0 or 1
	Count                       // 0, 1, 2, ...
	Class                       // the index of a level
	NoOutcome
)

// Kind returns what the model's outcome is.
func (m *Model) Kind() OutcomeKind {
	switch m.Family {
	case Logistic, Probit:
		return Binary
	case Poisson, NegativeBinomial:
		return Count
	case Softmax:
		return Class
	case Mixture:
		return NoOutcome
	case NeuralNetwork:
		if m.Positive != nil {
			return Binary
		}
	}
	return Measured
}

// Conjugate reports whether the posterior is known in closed form.
func (m *Model) Conjugate() bool { return m.Family == Linear && m.NoiseSD > 0 && len(m.Groups) == 0 }

// general reports whether the model is no regression.
func (m *Model) general() bool { return m.Family == Mixture || m.Family == NeuralNetwork }

// curvatureKnown reports whether the curvature of a record's log likelihood is known beforehand,
// roughly: for counts and models that are no regressions it is not.
func (m *Model) curvatureKnown() bool {
	return m.Kind() != Count && !m.general()
}

// An Event is what makes an outcome positive: a level of a categorical column, or
// a comparison of a number.
type Event struct {
	Text  string  // as in the study: a level, or ">= 10"
	Level int     // the level's index, −1 for a comparison
	Op    string  // ">=", ">", "<=" or "<"
	Value float64 // what a number is compared with
}

// Of reports whether a value of the outcome's column, as decoded, is positive.
func (e *Event) Of(value float64) bool {
	if e.Level >= 0 {
		return int(value) == e.Level
	}
	switch e.Op {
	case ">=":
		return value >= e.Value
	case ">":
		return value > e.Value
	case "<=":
		return value <= e.Value
	default:
		return value < e.Value
	}
}

// A Group is coefficients of their own for every level of a categorical column,
// drawn from one distribution whose spread is learned: "1 + age | clinic".
type Group struct {
	By        string
	Intercept bool
	Slopes    []string // numerical columns
}

// Effects returns the names of what varies between groups.
func (g Group) Effects() []string {
	var effects []string
	if g.Intercept {
		effects = append(effects, Intercept)
	}
	return append(effects, g.Slopes...)
}

// Reads returns the indices of the columns that the model looks at, in order.
func (s *Study) Reads() []int {
	var used []int
	add := func(name string) {
		if i := s.ColumnIndex(name); i >= 0 && !slices.Contains(used, i) {
			used = append(used, i)
		}
	}
	for _, t := range s.Model.Terms {
		for _, name := range t.Columns {
			add(name)
		}
	}
	for _, g := range s.Model.Groups {
		add(g.By)
		for _, name := range g.Slopes {
			add(name)
		}
	}
	for _, name := range s.Model.Variables {
		add(name)
	}
	add(s.Model.Outcome)
	slices.Sort(used)
	return used
}
