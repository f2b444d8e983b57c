package report

import (
	"fmt"
	"strings"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

// modelInWords says in one line what is fitted.
func modelInWords(m *fit.Model) string {
	st := m.Study
	if st.Model.Conjugate() {
		return fmt.Sprintf("linear regression of %s on %s, known noise sd %s (%s on the model's scale)",
			st.Model.Outcome, plural(m.Dim(), "coefficient"), number(st.Model.NoiseSD), number(m.NoiseSD()))
	}
	outcome := st.Model.Outcome
	if st.Model.Positive != nil {
		outcome = fmt.Sprintf("%s being %s", outcome, st.Model.Positive.Text)
	}
	switch st.Model.Family {
	case study.Mixture:
		return fmt.Sprintf("mixture of %d normal clusters of %s, %s", st.Model.Components, strings.Join(st.Model.Variables, ", "), plural(m.Dim(), "parameter"))
	case study.NeuralNetwork:
		return fmt.Sprintf("neural network of %s with %s, %s", outcome, plural(st.Model.Hidden, "hidden unit"), plural(m.Dim(), "parameter"))
	}
	return fmt.Sprintf("%s regression of %s on %s", familyInWords(st.Model.Family), outcome, plural(m.Dim(), "parameter"))
}

// positiveInWords names the event that a binary outcome is: a level, or a column with
// a comparison.
func positiveInWords(st *study.Study) string {
	e := st.Model.Positive
	if e.Level >= 0 {
		return e.Text
	}
	return st.Model.Outcome + " " + e.Text
}

func familyInWords(f study.Family) string {
	if f == study.NegativeBinomial {
		return "negative binomial"
	}
	return string(f)
}
