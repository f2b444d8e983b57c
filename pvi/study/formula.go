package study

import (
	"errors"

	"fedpvi/internal/document"
	"fedpvi/pvi/formula"
	"fedpvi/pvi/program/syntax"
)

// A Formula is a regression formula, such as "y ~ age + (1 | clinic)". [Parse] translates it into a
// [Program].
type Formula struct {
	Text   string // formula as written in the study
	Family string // family and link as written in the study
	Priors []formula.Prior

	// Varying is true if the formula has effects that vary between groups, or curves such as s(age),
	// or monotonic effects such as mo(grade).
	Varying bool

	// Effects is a program that computes the correlated group effects for reports, or nil if the
	// formula has none.
	Effects *syntax.Program
}

func readFormula(s *Study, t, prior *document.Table) {
	s.Model.Family = ByProgram
	p, f := &Program{Tree: &syntax.Program{}, Records: "N"}, &Formula{}
	s.Model.Program, s.Model.Formula = p, f
	refuseAll(t, append([]string{"program", "records", "data", "complete"}, keysOfFamilies...), "has no meaning beside formula, which is the whole model")
	refuseOfPrograms(s, t, "formula")
	t.Require("family", `write the distribution of the outcome, such as family = "gaussian", "bernoulli", "poisson" or "bernoulli(probit)"`)
	f.Text, _ = t.String("formula")
	f.Family, _ = t.String("family")
	request := formula.Request{Version: s.Version, Formula: f.Text, Family: f.Family, Priors: map[string]string{}}
	request.Positive, _ = t.String("positive")
	for _, key := range prior.Keys() {
		request.Priors[key], _ = prior.String(key)
	}
	for i := range s.Columns {
		request.Columns = append(request.Columns, columnOfFormula(&s.Columns[i]))
	}
	if !t.Has("family") || f.Text == "" {
		return
	}
	written, err := formula.Write(request)
	if err != nil {
		reportFormula(err, t, prior)
		return
	}
	f.Priors, f.Varying = written.Priors, written.Varying
	tree, err := syntax.Parse(written.Text)
	if err != nil {
		t.Errorf("formula", "its program cannot be read, which is a bug in this build: %v", err)
		return
	}
	p.Tree = tree
	if written.Effects != "" {
		if f.Effects, err = syntax.Parse(written.Effects); err != nil {
			t.Errorf("formula", "its program with effects cannot be read, which is a bug in this build: %v", err)
			return
		}
	}
	for _, v := range written.Variables {
		s.addVariable(v, t)
	}
	s.findIntegers()
}

// columnOfFormula converts a column to the type that package formula uses.
func columnOfFormula(c *Column) formula.Column {
	if c.Type != Numeric {
		return formula.Column{Name: c.Name, Levels: c.Levels}
	}
	return formula.Column{
		Name: c.Name, Low: c.Transform.Of(c.Low), High: c.Transform.Of(c.High), Centre: c.Centre, Spread: c.Spread, Whole: c.whole(),
	}
}

// reportFormula reports an error in the translation of a formula, at the key that caused it.
func reportFormula(err error, t, prior *document.Table) {
	var family *formula.FamilyError
	var of *formula.PriorError
	switch {
	case errors.As(err, &family):
		t.Errorf("family", "%v", err)
	case errors.As(err, &of):
		prior.Errorf(of.Key, "%s", of.Text)
	default:
		t.Errorf("formula", "the formula cannot be used.\n%v", err)
	}
}

// addVariable binds the data variable v to a column, or to the indicator of one of its levels.
func (s *Study) addVariable(v formula.Variable, t *document.Table) {
	part := ProgramPart{Column: s.ColumnIndex(v.Column)}
	if v.Is != "" {
		event, problem := parseEvent(v.Is, &s.Columns[part.Column])
		if problem != "" {
			t.Errorf("positive", "%s", problem)
			return
		}
		part.Is = event
	}
	s.Model.Program.Variables = append(s.Model.Program.Variables, ProgramVariable{Name: v.Name, Whole: v.Whole, Parts: []ProgramPart{part}})
}
