package fit

import "errors"

// InformationBound returns a public upper bound on the Frobenius norm of a record's information
// matrix. If there is none, it returns an error with the reason. The bound is the product of two
// bounds, on the information about the predictors and on the squared norm of the regressors.
func (m *Model) InformationBound() (float64, error) {
	if m.General() {
		return 0, errors.New("the curvature of a model that is not a regression has no public bound")
	}
	most, err := m.Outcome().Information()
	if err != nil {
		return 0, err
	}
	squares, _ := m.Study.RegressorBounds()
	return most * squares, nil
}
