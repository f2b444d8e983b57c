package study

import (
	"fmt"
	"slices"
)

// Model is the model that a study estimates.
type Model struct {
	Family   Family
	Outcome  string // the name of a column; empty for a mixture
	Positive *Event // of a binary outcome; nil for others
	Terms    []Term // in the order of the document, the intercept first
	OneHot   bool   // a categorical column has an indicator for every level, not only for those after the first
	Groups   []Group

	Standardise bool    // numeric columns are mapped to [-1, 1] by their bounds; default true
	MaxNorm     float64 // the norm to which longer regressors of a record are shortened, on the model's scale; 0 for none
	NoiseSD     float64 // known noise of a linear model; 0 if it is learned

	DegreesOfFreedom float64  // of robust regression
	Hidden           int      // units of a neural network's hidden layer
	Components       int      // of a mixture
	Variables        []string // columns that a mixture describes
	ClusterSD        float64  // known sd of a mixture's clusters, which then have equal weights, on the model's scale; 0 if sds and weights are learned
}

// A Family is a kind of likelihood.
type Family string

const (
	Linear           Family = "linear"            // a normal outcome
	Logistic         Family = "logistic"          // a binary outcome, with a logit link
	Probit           Family = "probit"            // a binary outcome, with a probit link
	Poisson          Family = "poisson"           // a count
	NegativeBinomial Family = "negative-binomial" // a count with more variance
	Softmax          Family = "softmax"           // one of several levels
	Robust           Family = "robust"            // a Student-t outcome
	Mixture          Family = "mixture"           // normal clusters of several columns, without an outcome
	NeuralNetwork    Family = "neural-network"    // one hidden layer
)

// An OutcomeKind is the kind of a record's outcome in the model.
type OutcomeKind int

const (
	Measured OutcomeKind = iota // a number, on the scale of the model
	Binary                      // 0 or 1
	Count                       // 0, 1, 2, ...
	Class                       // the index of a level
	NoOutcome
)

// families has the properties of each family, in the order of messages.
var families = []struct {
	name Family
	kind OutcomeKind
	keys []string // of [model], for this family only
}{
	{Linear, Measured, []string{"noise_sd"}},
	{Logistic, Binary, []string{"positive"}},
	{Probit, Binary, []string{"positive"}},
	{Poisson, Count, nil},
	{NegativeBinomial, Count, nil},
	{Softmax, Class, nil},
	{Robust, Measured, []string{"degrees_of_freedom"}},
	{Mixture, NoOutcome, []string{"components", "columns", "cluster_sd"}},
	{NeuralNetwork, Measured, []string{"hidden", "positive"}}, // Binary with positive
}

func familyNames() []Family {
	var names []Family
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// find returns the kind and the keys of a family. For an unknown family find returns no
// keys.
func (f Family) find() (kind OutcomeKind, keys []string) {
	for _, row := range families {
		if row.name == f {
			return row.kind, row.keys
		}
	}
	return Measured, nil
}

// Kind returns the kind of the model's outcome.
func (m *Model) Kind() OutcomeKind {
	if m.Family == NeuralNetwork && m.Positive != nil {
		return Binary
	}
	kind, _ := m.Family.find()
	return kind
}

// Sentence returns the distribution of a regression's outcome in words, for a review. The
// predictor η is described by the given words.
func (m *Model) Sentence(predictor string) string {
	switch m.Family {
	case Robust:
		return fmt.Sprintf("%s is Student-t with %.4g degrees of freedom around %s", m.Outcome, m.DegreesOfFreedom, predictor)
	case Probit:
		return fmt.Sprintf("%s is %s with the probability Φ(η) of a standard normal below %s", m.Outcome, m.Positive.Text, predictor)
	case Poisson:
		return fmt.Sprintf("%s is a Poisson count whose log mean is %s", m.Outcome, predictor)
	case NegativeBinomial:
		return fmt.Sprintf("%s is a negative binomial count whose log mean is %s", m.Outcome, predictor)
	}
	if m.Kind() == Binary {
		return fmt.Sprintf("%s is %s with log odds %s", m.Outcome, m.Positive.Text, predictor)
	}
	return fmt.Sprintf("%s is normal around %s", m.Outcome, predictor)
}

// Conjugate reports whether the posterior has a closed form.
func (m *Model) Conjugate() bool { return m.Family == Linear && m.NoiseSD > 0 && len(m.Groups) == 0 }

// general reports whether the model is not a regression.
func (m *Model) general() bool { return m.Family == Mixture || m.Family == NeuralNetwork }

// curvatureKnown reports whether there is a rough public guess of the curvature of a
// record's log likelihood. There is none for counts and for models that are not
// regressions.
func (m *Model) curvatureKnown() bool {
	return m.Kind() != Count && !m.general()
}

// An Event is the condition under which an outcome is positive: a level of a categorical
// column, or a comparison of a number.
type Event struct {
	Text  string  // as in the study: a level, or ">= 10"
	Level int     // the level's index, −1 for a comparison
	Op    string  // ">=", ">", "<=" or "<"
	Value float64 // the right-hand side of a comparison
}

// Of reports whether a decoded value of the outcome's column is positive.
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

// A Group gives every level of a categorical column its own coefficients, from one
// distribution with a learned spread: "1 + age | clinic".
type Group struct {
	By        string
	Intercept bool
	Slopes    []string // numerical columns
}

// Effects returns the names of the coefficients that vary between groups.
func (g Group) Effects() []string {
	var effects []string
	if g.Intercept {
		effects = append(effects, Intercept)
	}
	return append(effects, g.Slopes...)
}

// Reads returns the indices of the columns that the model uses, in order.
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
