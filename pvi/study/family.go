package study

import (
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/document"
)

const (
	maxHidden     = 256
	maxComponents = 64
)

// readModel reads the table [model], and reports whether it contains standardise = "private".
func readModel(s *Study, root *document.Table) (private bool) {
	t := root.Table("model")
	if root.Has("describe") && !root.Has("model") {
		s.Model.Family = NoModel
		return false
	}
	if t.Has("formula") {
		readFormula(s, t, root.Table("prior"))
		return false
	}
	if t.Has("program") {
		readProgram(s, t)
		return false
	}
	refuseAll(t, []string{"records", "data", "complete"}, "is used only with program")
	t.Require("family", `write family = "linear", "logistic", "poisson" or another family in docs/use/study.md`)
	readChoice(t, "family", &s.Model.Family, Families()...)
	s.Model.Standardise = true
	if how, ok := t.Choice("standardise", "bounds", "private", "none"); ok {
		s.Model.Standardise = how != "none"
		private = how == "private"
	}
	readFamilyKeys(s, t)
	readPositive(t, "max_norm", &s.Model.MaxNorm)
	if s.Model.Family == Mixture {
		readMixture(s, t)
		return private
	}
	readOutcome(s, t)
	coding, _ := t.Choice("coding", "treatment", "one-hot")
	s.Model.OneHot = coding == "one-hot"
	readTerms(s, t)
	readGroups(s, t)
	return private
}

// readFamilyKeys reads those keys of [model] that belong to certain families, such as noise_sd. It
// refuses them for other families.
func readFamilyKeys(s *Study, t *document.Table) {
	m := &s.Model
	keys := m.Family.find().keys
	has := func(key string) bool {
		if slices.Contains(keys, key) {
			return true
		}
		if t.Has(key) && m.Family != "" {
			t.Errorf(key, "has no meaning with family = %q", m.Family)
		}
		t.Value(key)
		return false
	}
	if has("noise_sd") {
		t.Require("noise_sd", `write the known standard deviation of the outcome around its mean, in the outcome's unit, or noise_sd = "learned"`)
		if v, _ := t.Value("noise_sd"); v != "learned" {
			readPositive(t, "noise_sd", &m.NoiseSD)
		}
	}
	if has("degrees_of_freedom") {
		m.DegreesOfFreedom = 4
		readPositive(t, "degrees_of_freedom", &m.DegreesOfFreedom)
	}
	if has("hidden") {
		t.Require("hidden", "write the number of units of the hidden layer, hidden = 10")
		readCount(t, "hidden", &m.Hidden, maxHidden)
	}
	if has("components") {
		t.Require("components", "write the number of clusters, components = 3")
		readCount(t, "components", &m.Components, maxComponents)
	}
	if has("cluster_sd") {
		readPositive(t, "cluster_sd", &m.ClusterSD)
	}
	has("columns")
	has("positive")
}

func readOutcome(s *Study, t *document.Table) {
	m := &s.Model
	t.Require("outcome", "name the column whose values the model explains")
	m.Outcome, _ = t.String("outcome")
	c, ok := s.Column(m.Outcome)
	if !ok {
		if t.Has("outcome") {
			t.Errorf("outcome", "column %q is not declared", m.Outcome)
		}
		t.Value("positive")
		return
	}
	readEvent(s, t, c)
	if m.Family == "" {
		return // reported before
	}
	switch m.Kind() {
	case Measured:
		if c.Type != Numeric {
			t.Errorf("outcome", "column %q is %s; the outcome of a %s model is numeric", c.Name, c.Type, m.Family)
		}
	case Count:
		if c.Type != Numeric || c.Dated || c.Low < 0 || c.Low != float64(int64(c.Low)) || c.High != float64(int64(c.High)) {
			t.Errorf("outcome", "column %q does not have counts: the outcome of a %s model is numeric, and its bounds are whole numbers and not negative, such as bounds = [0, 50]", c.Name, m.Family)
		}
	case Class:
		if c.Type == Numeric {
			t.Errorf("outcome", "column %q is numeric; the outcome of a softmax model is one of the levels of a categorical column", c.Name)
		}
	}
}

// readEvent reads the key positive, which says when a binary outcome counts as 1. c is the column
// of the outcome.
func readEvent(s *Study, t *document.Table, c *Column) {
	m := &s.Model
	if m.Kind() != Binary && (m.Family != NeuralNetwork || !t.Has("positive")) {
		return
	}
	remedy := `say which outcomes count as 1, positive = ">= 10"`
	if n := len(c.Levels); n > 0 {
		remedy = "say which level counts as 1, positive = " + strconv.Quote(c.Levels[n-1])
	}
	t.Require("positive", remedy)
	text, ok := t.String("positive")
	if !ok {
		return
	}
	event, problem := parseEvent(text, c)
	if problem != "" {
		t.Errorf("positive", "%s", problem)
		return
	}
	m.Positive = event
}

// parseEvent parses an event. If text is invalid, it describes the problem.
func parseEvent(text string, c *Column) (event *Event, problem string) {
	if c.Type != Numeric {
		level := slices.Index(c.Levels, text)
		if level < 0 {
			return nil, strconv.Quote(text) + " is not among the levels of column " + strconv.Quote(c.Name)
		}
		return &Event{Text: text, Level: level}, ""
	}
	for _, op := range []string{">=", "<=", ">", "<"} {
		rest, found := strings.CutPrefix(strings.TrimSpace(text), op)
		if !found {
			continue
		}
		value, ok := c.comparable(strings.TrimSpace(rest))
		if !ok {
			break
		}
		e := &Event{Text: text, Level: -1, Op: op, Value: value}
		if e.Of(c.Low) == e.Of(c.High) {
			return nil, strconv.Quote(text) + " is the same for every value within the bounds of column " + strconv.Quote(c.Name)
		}
		return e, ""
	}
	if c.Dated {
		return nil, strconv.Quote(text) + ` is not a comparison: column ` + strconv.Quote(c.Name) + ` has dates, write positive = ">= 2020-01-01", or with >, <= or <`
	}
	return nil, strconv.Quote(text) + ` is not a comparison: column ` + strconv.Quote(c.Name) + ` is numeric, write positive = ">= 10", or with >, <= or <`
}

// comparable parses the right-hand side of a comparison with column c. It must be a day if the
// column has dates, and a number otherwise.
func (c *Column) comparable(text string) (value float64, ok bool) {
	if c.Dated {
		day, ok := asDay(text)
		return c.Years(day), ok
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil && value == value
}

func readMixture(s *Study, t *document.Table) {
	refuseAll(t, []string{"outcome", "terms", "groups", "intercept", "coding", "max_norm"}, `has no meaning with family = "mixture": a mixture describes the columns that are listed in columns`)
	t.Require("columns", `write the numeric columns in which to find clusters, columns = ["length", "weight"]`)
	names, _ := t.Strings("columns")
	for i, name := range names {
		c, ok := s.Column(name)
		switch {
		case !ok:
			t.Errorf("columns", "column %q is not declared", name)
		case c.Type != Numeric:
			t.Errorf("columns", "column %q is %s; clusters are found in numeric columns", name, c.Type)
		case slices.Contains(names[:i], name):
			t.Errorf("columns", "column %q is named twice", name)
		}
	}
	if len(names) == 0 && t.Has("columns") {
		t.Errorf("columns", "names no column")
	}
	s.Model.Variables = names
}

func readGroups(s *Study, t *document.Table) {
	entries, _ := t.Strings("groups")
	if f := s.Model.Family; len(entries) > 0 && (f == NeuralNetwork || f == Softmax) {
		t.Errorf("groups", "a %s model has no group terms", f)
		return
	}
	for _, entry := range entries {
		g, problem := s.parseGroup(entry)
		if problem == "" && slices.ContainsFunc(s.Model.Groups, func(other Group) bool { return other.By == g.By }) {
			problem = "column " + strconv.Quote(g.By) + ` is the group of two terms: write one term, "1 + age | clinic"`
		}
		if problem != "" {
			t.Errorf("groups", "%s", problem)
			return
		}
		s.Model.Groups = append(s.Model.Groups, g)
	}
}

func (s *Study) parseGroup(entry string) (g Group, problem string) {
	effects, by, found := strings.Cut(entry, "|")
	if !found {
		effects, by = "1", entry
	}
	g.By = strings.TrimSpace(by)
	c, ok := s.Column(g.By)
	if !ok {
		return g, "column " + strconv.Quote(g.By) + ` is not declared: write a categorical column, "clinic", or "1 + age | clinic" for slopes too`
	}
	if c.Type == Numeric || g.By == s.Model.Outcome {
		return g, "column " + strconv.Quote(g.By) + " cannot define groups: groups are the levels of a categorical column other than the outcome"
	}
	for _, effect := range strings.Split(effects, "+") {
		switch effect = strings.TrimSpace(effect); {
		case effect == "1":
			g.Intercept = true
		case effect == "0":
		default:
			slope, ok := s.Column(effect)
			if !ok || !slope.Numerical() || effect == s.Model.Outcome || slices.Contains(g.Slopes, effect) {
				return g, strconv.Quote(effect) + " cannot vary between groups: write 1 for the intercept and numeric columns, each once, for slopes"
			}
			g.Slopes = append(g.Slopes, effect)
		}
	}
	if len(g.Effects()) == 0 {
		return g, strconv.Quote(entry) + " has nothing that varies between groups"
	}
	return g, ""
}

func readTerms(s *Study, t *document.Table) {
	t.Require("terms", `write the columns and interactions that explain the outcome, terms = ["age", "sex", "age:sex"]`)
	entries, _ := t.Strings("terms")
	terms, err := expandTerms(entries)
	if err != nil {
		t.Errorf("terms", "%v", err)
		return
	}
	for _, term := range terms {
		for _, name := range term.Columns {
			if _, ok := s.Column(name); !ok {
				t.Errorf("terms", "column %q is not declared", name)
				return
			}
			if name == s.Model.Outcome {
				t.Errorf("terms", "%q is the outcome and cannot explain itself", name)
				return
			}
		}
	}
	if intercept, ok := t.Bool("intercept"); intercept || !ok {
		terms = slices.Insert(terms, 0, Term{})
	}
	if len(terms) == 0 {
		t.Errorf("terms", "the model has no term")
		return
	}
	if countCoefficients(s, terms) > maxParameters {
		t.Errorf("terms", "the terms make more than %d coefficients", maxParameters)
		return
	}
	s.Model.Terms = terms
}

// countCoefficients returns the number of coefficients of the terms, but stops counting at
// maxParameters+1.
func countCoefficients(s *Study, terms []Term) int {
	total := 0
	for _, term := range terms {
		n := 1
		for _, name := range term.Columns {
			if c, _ := s.Column(name); !c.Numerical() {
				n = min(maxParameters+1, n*len(s.parts(s.ColumnIndex(name))))
			}
		}
		total = min(maxParameters+1, total+n)
	}
	return total
}
