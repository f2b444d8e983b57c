package study

import (
	"fmt"
	"slices"
	"strings"
)

// Model is the statistical model that a study estimates.
type Model struct {
	Family   Family
	Program  *Program // model in the Stan language; nil unless the family is ByProgram
	Formula  *Formula // formula that the program was made from; nil if there is none
	Outcome  string   // name of the outcome column; empty for a mixture
	Positive *Event   // condition under which a binary outcome is 1; nil for other outcomes
	Terms    []Term   // terms in the order of the document, beginning with the intercept
	OneHot   bool     // whether all levels of a categorical column have coefficients, even the first
	Groups   []Group

	Standardise bool    // whether numeric columns are mapped from their bounds to [−1, 1]; default true
	MaxNorm     float64 // limit on the norm of a record's regressors on the model's scale; longer vectors are shortened to it; 0 for no limit
	NoiseSD     float64 // known standard deviation of the noise in a linear model; 0 if it is learned

	DegreesOfFreedom float64  // degrees of freedom of robust regression
	Hidden           int      // number of units in the hidden layer of a neural network
	Components       int      // number of components of a mixture
	Variables        []string // columns of a mixture
	ClusterSD        float64  // standard deviation of a mixture's clusters on the model's scale; 0 to learn the standard deviations and the weights of the clusters
}

// A Family is a kind of likelihood.
type Family string

const (
	Linear           Family = "linear"            // regression with a normal outcome
	Logistic         Family = "logistic"          // regression of a binary outcome with a logit link
	Probit           Family = "probit"            // regression of a binary outcome with a probit link
	Poisson          Family = "poisson"           // regression of a count with a Poisson distribution
	NegativeBinomial Family = "negative-binomial" // regression of a count that varies more than a Poisson distribution allows
	Softmax          Family = "softmax"           // regression of an outcome with several levels
	Robust           Family = "robust"            // regression of an outcome with Student-t noise
	Mixture          Family = "mixture"           // normal clusters in several columns, without an outcome
	NeuralNetwork    Family = "neural-network"    // neural network with one hidden layer
)

// An OutcomeKind says what values the outcome of a record has in the model.
type OutcomeKind int

const (
	Measured OutcomeKind = iota // the outcome is a number on the model's scale
	Binary                      // the outcome is 0 or 1
	Count                       // the outcome is 0, 1, 2, ...
	Class                       // the outcome is the index of a level
	NoOutcome
)

// A family has the properties of one Family.
type family struct {
	name Family
	kind OutcomeKind
	keys []string // keys of [model] that belong to certain families

	says        string // sentence that describes the outcome; [Model.Sentence] replaces the names in braces
	unit, ratio string // see [Family.PredictorUnit]

	curved bool // whether a public bound on the curvature of a record's log likelihood exists
	scale  Scale
}

// A Scale describes the learned parameter for the spread of the outcome, such as the standard
// deviation of the noise. The zero Scale stands for a model without such a parameter.
type Scale struct {
	Prior string // key of the parameter's prior in the table [prior]
	Name  string // name of the parameter; empty if the model is not a regression
	About string // description of the parameter
}

// families lists the families in the order of [Families].
var families = []family{
	{
		Linear, Measured,
		[]string{"noise_sd"},
		"{outcome} is normal around {η}", "", "", true,
		Scale{"scale", "noise_sd", "standard deviation of the outcome around its mean"},
	},
	{Logistic, Binary, []string{"positive"}, "{outcome} is {positive} with log odds {η}", "log odds", "odds ratio", true, Scale{}},
	{Probit, Binary, []string{"positive"}, "{outcome} is {positive} with the probability Φ(η) of a standard normal below {η}", "probits", "", true, Scale{}},
	{Poisson, Count, nil, "{outcome} is a Poisson count whose log mean is {η}", "log rate", "rate ratio", false, Scale{}},
	{
		NegativeBinomial, Count, nil, "{outcome} is a negative binomial count whose log mean is {η}", "log rate", "rate ratio", false,
		Scale{"dispersion", "dispersion", "φ: a count of mean μ has variance μ + μ²/φ"},
	},
	{
		Softmax, Class, nil,
		"{outcome} is one of its levels, and the log odds of a level against the first are η, the sum of the level's coefficients times the record's values",
		"log odds", "odds ratio", true,
		Scale{},
	},
	{
		Robust, Measured,
		[]string{"degrees_of_freedom"},
		"{outcome} is Student-t with {degrees} degrees of freedom around {η}", "", "", false,
		Scale{"scale", "noise_scale", "scale of the Student-t distribution of the outcome around its centre"},
	},
	{name: Mixture, kind: NoOutcome, keys: []string{"components", "columns", "cluster_sd"}, scale: Scale{Prior: "scale"}},
	{name: NeuralNetwork, kind: Measured, keys: []string{"hidden", "positive"}, scale: Scale{Prior: "scale"}}, // The kind is Binary if the study has the key positive.
}

// Families returns the names of all families, in the order in which error messages list them.
func Families() []Family {
	var names []Family
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

func (f Family) find() family {
	for _, row := range families {
		if row.name == f {
			return row
		}
	}
	if f == ByProgram || f == NoModel {
		return family{name: f, kind: NoOutcome}
	}
	return family{}
}

// Kind returns the kind of the model's outcome.
func (m *Model) Kind() OutcomeKind {
	if m.Family == NeuralNetwork && m.Positive != nil {
		return Binary
	}
	return m.Family.find().kind
}

// Sentence explains how a record's outcome is distributed. predictor is the text to use for the
// linear predictor η.
func (m *Model) Sentence(predictor string) string {
	of, positive := m.Family, ""
	if of == NeuralNetwork {
		of = Linear
	}
	if m.Positive != nil {
		positive = m.Positive.Text
		if m.Family == NeuralNetwork {
			of = Logistic
		}
	}
	words := strings.NewReplacer("{outcome}", m.Outcome, "{positive}", positive, "{η}", predictor, "{degrees}", fmt.Sprintf("%.4g", m.DegreesOfFreedom))
	return words.Replace(of.find().says)
}

// PredictorUnit returns the unit of the predictor η, or "" if it is the outcome's unit. ratio is
// the usual name for the exponential of a difference between predictors, such as odds ratio, or ""
// if there is none.
func (f Family) PredictorUnit() (unit, ratio string) {
	of := f.find()
	return of.unit, of.ratio
}

// LearnedScale returns the scale parameter that a regression learns, with its prior. ok is false if
// it learns no such parameter.
func (s *Study) LearnedScale() (scale Scale, prior LogNormal, ok bool) {
	scale, prior = s.Model.Family.find().scale, s.Prior.Scale
	if scale.Prior == "dispersion" {
		prior = s.Prior.Dispersion
	}
	return scale, prior, scale.Name != "" && s.Model.NoiseSD == 0
}

// Conjugate reports whether the prior is conjugate, so that the posterior can be computed exactly.
func (m *Model) Conjugate() bool { return m.Family == Linear && m.NoiseSD > 0 && len(m.Groups) == 0 }

// general reports whether the model is something other than a regression.
func (m *Model) general() bool {
	return m.Family == Mixture || m.Family == NeuralNetwork || m.Family == ByProgram
}

// An Event is the condition under which an outcome counts as 1. It is a level of a categorical
// column, or a comparison with a number.
type Event struct {
	Text  string  // condition as written in the study: a level, or a comparison such as ">= 10"
	Level int     // index of the level; −1 for a comparison
	Op    string  // operator of a comparison: ">=", ">", "<=" or "<"
	Value float64 // right-hand side of a comparison
}

// Of reports whether a decoded value of the outcome column satisfies the condition.
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

// A Group is a group term such as "1 + age | clinic". Each level of the categorical column By has
// its own intercept or slopes. These are drawn from a normal distribution with a learned standard
// deviation.
type Group struct {
	By        string
	Intercept bool
	Slopes    []string // names of numerical columns whose coefficients vary between groups
}

// Effects returns the names of the coefficients that vary between groups.
func (g Group) Effects() []string {
	var effects []string
	if g.Intercept {
		effects = append(effects, Intercept)
	}
	return append(effects, g.Slopes...)
}

// Reads returns the indices of the columns that the model or the tables of [Describe] use, in
// increasing order.
func (s *Study) Reads() []int {
	used := s.Modelled()
	if d := s.Describe; d != nil {
		used = append(used, d.Columns...)
		if d.By >= 0 {
			used = append(used, d.By)
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// Modelled returns the indices of the columns that the model uses, in increasing order.
func (s *Study) Modelled() []int {
	names := append([]string{s.Model.Outcome}, s.Model.Variables...)
	for _, t := range s.Model.Terms {
		names = append(names, t.Columns...)
	}
	for _, g := range s.Model.Groups {
		names = append(append(names, g.By), g.Slopes...)
	}
	var used []int
	for _, name := range names {
		if i := s.ColumnIndex(name); i >= 0 {
			used = append(used, i)
		}
	}
	if p := s.Model.Program; p != nil {
		for _, v := range p.Variables {
			for _, part := range v.Parts {
				used = append(used, part.Column)
			}
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}
