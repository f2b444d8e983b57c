package report

import (
	"fmt"

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
	return fmt.Sprintf("%s regression of %s on %s", familyInWords(st.Model.Family), outcome, plural(m.Dim(), "parameter"))
}

func familyInWords(f study.Family) string {
	if f == study.NegativeBinomial {
		return "negative binomial"
	}
	return string(f)
}
