package words

import (
	"fmt"
	"strings"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

// Model describes the model in one line.
func Model(m *fit.Model) string {
	st := m.Study
	if st.Model.Conjugate() {
		return fmt.Sprintf("linear regression of %s on %s, known noise sd %s (%s on the model's scale)",
			st.Model.Outcome, Plural(m.Dim(), "coefficient"), Number(st.Model.NoiseSD), Number(m.NoiseSD()))
	}
	outcome := st.Model.Outcome
	if st.Model.Positive != nil {
		outcome = fmt.Sprintf("%s being %s", outcome, st.Model.Positive.Text)
	}
	switch st.Model.Family {
	case study.NoModel:
		return "tables of the records, without a model"
	case study.Mixture:
		return fmt.Sprintf("mixture of %d normal clusters of %s, %s", st.Model.Components, strings.Join(st.Model.Variables, ", "), Plural(m.Dim(), "parameter"))
	case study.ByProgram:
		if f := st.Model.Formula; f != nil {
			return fmt.Sprintf("formula of the family %s with %s", strings.Map(visible, f.Family), Plural(m.Dim(), "parameter"))
		}
		return fmt.Sprintf("program of %s with %s", Plural(1+strings.Count(strings.TrimSpace(st.Model.Program.Tree.Text), "\n"), "line"), Plural(m.Dim(), "parameter"))
	case study.NeuralNetwork:
		return fmt.Sprintf("neural network of %s with %s, %s", outcome, Plural(st.Model.Hidden, "hidden unit"), Plural(m.Dim(), "parameter"))
	}
	return fmt.Sprintf("%s regression of %s on %s", strings.ReplaceAll(string(st.Model.Family), "-", " "), outcome, Plural(m.Dim(), "parameter"))
}

// Positive describes the condition under which a binary outcome is 1.
func Positive(st *study.Study) string {
	e := st.Model.Positive
	if e.Level >= 0 {
		return e.Text
	}
	return st.Model.Outcome + " " + e.Text
}
