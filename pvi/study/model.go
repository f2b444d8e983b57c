package study

import (
	"fmt"
	"slices"
)

// Model is the model that a study estimates.
type Model struct {
	Family   Family
	Outcome  string // name of the outcome's column; empty for a mixture
	Positive *Event // condition under which a binary outcome is 1; nil for other outcomes
	Terms    []Term // terms in the order of the document, the intercept first
	OneHot   bool   // whether all levels of a categorical column have an indicator; otherwise the first has none
	Groups   []Group

	Standardise bool    // whether numeric columns are mapped to [-1, 1] by their bounds; default true
	MaxNorm     float64 // largest norm of a record's regressors, to which longer ones are scaled, on the model's scale; 0 for none
	NoiseSD     float64 // known sd of the noise of a linear model; 0 if it is learned

	DegreesOfFreedom float64  // degrees of freedom of robust regression
	Hidden           int      // number of units of a neural network's hidden layer
	Components       int      // number of components of a mixture
	Variables        []string // columns of a mixture
	ClusterSD        float64  // known sd of a mixture's clusters, which then have equal weights, on the model's scale; 0 if sds and weights are learned
}

// A Family is a kind of likelihood.
type Family string

const (
	Linear           Family = "linear"            // normal outcome
	Logistic         Family = "logistic"          // binary outcome with a logit link
	Probit           Family = "probit"            // binary outcome with a probit link
	Poisson          Family = "poisson"           // count with a Poisson distribution
	NegativeBinomial Family = "negative-binomial" // count with a larger variance than Poisson
	Softmax          Family = "softmax"           // one of several levels
	Robust           Family = "robust"            // outcome with a Student-t distribution
	Mixture          Family = "mixture"           // normal clusters of several columns, without an outcome
	NeuralNetwork    Family = "neural-network"    // network with one hidden layer
)

// An OutcomeKind is the kind of a record's outcome in the model.
type OutcomeKind int

const (
	Measured OutcomeKind = iota // number on the model's scale
	Binary                      // 0 or 1
	Count                       // 0, 1, 2, ...
	Class                       // index of a level
	NoOutcome
)

// families has the properties of each family, in the order in which messages list them.
var families = []struct {
	name Family
	kind OutcomeKind
	keys []string // keys of [model] that only this family has
}{
	{Linear, Measured, []string{"noise_sd"}},
	{Logistic, Binary, []string{"positive"}},
	{Probit, Binary, []string{"positive"}},
	{Poisson, Count, nil},
	{NegativeBinomial, Count, nil},
	{Softmax, Class, nil},
	{Robust, Measured, []string{"degrees_of_freedom"}},
	{Mixture, NoOutcome, []string{"components", "columns", "cluster_sd"}},
	{NeuralNetwork, Measured, []string{"hidden", "positive"}}, // Binary if the study has the key positive
}

func familyNames() []Family {
	var names []Family
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// find returns the kind and the keys of a family. An unknown family has no keys.
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

// Sentence returns the distribution of a regression's outcome in words, for a review. predictor
// is the description of the predictor η.
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

// curvatureKnown reports whether public numbers give a rough estimate of the curvature of a
// record's log likelihood. They do not for counts and for models that are not regressions.
func (m *Model) curvatureKnown() bool {
	return m.Kind() != Count && !m.general()
}

// An Event is the condition under which an outcome counts as 1: a level of a categorical column,
// or a comparison with a number.
type Event struct {
	Text  string  // condition as written in the study: a level, or for example ">= 10"
	Level int     // index of the level; −1 for a comparison
	Op    string  // operator of a comparison: ">=", ">", "<=" or "<"
	Value float64 // right-hand side of a comparison
}

// Of reports whether a decoded value of the outcome's column satisfies the condition.
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

// A Group gives every level of a categorical column its own coefficients. They are draws from
// one distribution with a learned spread. An example is "1 + age | clinic".
type Group struct {
	By        string
	Intercept bool
	Slopes    []string // names of numerical columns with coefficients that vary
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
