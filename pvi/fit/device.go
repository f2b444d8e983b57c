package fit

import (
	"errors"
	"fmt"

	"fedpvi/gpu/cuda"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// OnDevice returns the family of the model on a device (package cuda), or why none
// takes the model.
func (m *Model) OnDevice() (cuda.Family, error) {
	st := m.Study
	family := cuda.Logistic
	switch {
	case len(st.Model.Groups) > 0:
		return 0, errors.New("a device takes regressions without terms that vary between groups")
	case st.Model.Family == study.Logistic:
	case st.Model.Family == study.Poisson:
		family = cuda.Poisson
	case st.Model.Family == study.Linear && m.NoiseSD() > 0:
		family = cuda.Linear
	case st.Model.Family == study.Linear:
		return 0, errors.New("a device takes linear regression with a known model.noise_sd")
	default:
		return 0, fmt.Errorf("a device takes logistic, linear and Poisson regression, not %s", st.Model.Family)
	}
	if d := m.program.Dim(); d > cuda.MaxDim {
		return 0, fmt.Errorf("a device takes up to %d coefficients, the model has %d", cuda.MaxDim, d)
	}
	if m.beyond {
		return 0, errors.New("a device takes normal priors")
	}
	return family, nil
}

// OnDeviceRecords returns a shard as a device reads it.
func (m *Model) OnDeviceRecords(s *shard.Shard) (cuda.Regression, error) {
	family, err := m.OnDevice()
	if err != nil {
		return cuda.Regression{}, err
	}
	r := cuda.Regression{Family: family, Dim: m.program.Dim()}
	if family == cuda.Linear {
		r.Precision = 1 / (m.NoiseSD() * m.NoiseSD())
	}
	for i := range s.Len() {
		x, y := s.Record(i)
		r.Rows, r.Outcomes = append(r.Rows, x...), append(r.Outcomes, y)
	}
	return r, nil
}
