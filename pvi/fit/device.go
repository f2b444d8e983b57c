package fit

import (
	"errors"
	"fmt"

	"fedpvi/gpu/cuda"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// kernels lists the regression families that can run on a device.
var kernels = map[study.Family]cuda.Family{
	study.Linear: cuda.Linear, study.Logistic: cuda.Logistic, study.Poisson: cuda.Poisson,
	study.Probit: cuda.Probit, study.Robust: cuda.Robust, study.NegativeBinomial: cuda.NegativeBinomial,
}

// OnDevice returns nil if the kernels of package cuda support the model, and an error with the
// reason if they do not.
func (m *Model) OnDevice() error {
	f := m.Study.Model.Family
	if _, ok := kernels[f]; !ok && f != study.Mixture {
		return fmt.Errorf("the kernels have regressions of one predictor and mixtures, not %s", f)
	}
	if m.Centred() {
		return errors.New("the kernels have standardised effects of groups, not centred ones")
	}
	if d := m.Dim(); d > cuda.MaxDim {
		return fmt.Errorf("the kernels have up to %d coordinates, the model has %d", cuda.MaxDim, d)
	}
	return nil
}

// OnDeviceRecords returns the records of s for package cuda. clients is the number of clients of
// the study.
func (m *Model) OnDeviceRecords(s *shard.Shard, clients int) (cuda.Records, error) {
	if err := m.OnDevice(); err != nil {
		return nil, err
	}
	rows, outcomes := flat(s)
	if m.Study.Model.Family == study.Mixture {
		return m.onDeviceMixture(rows, 1/float64(clients)), nil
	}
	family := kernels[m.Study.Model.Family]
	precision := 0.0
	if family == cuda.Linear && m.layout.scale < 0 {
		precision = 1 / (m.NoiseSD() * m.NoiseSD())
	}
	if len(m.layout.groups) == 0 && m.layout.scale < 0 {
		return cuda.Regression{Family: family, Dim: m.Dim(), Rows: rows, Outcomes: outcomes, Precision: precision}, nil
	}
	return cuda.Multilevel{
		Family: family, Dim: m.Dim(), Features: m.layout.coefficients, Effects: m.onDeviceEffects(s),
		Scale: m.layout.scale, Precision: precision, Degrees: m.Study.Model.DegreesOfFreedom, Rows: rows, Outcomes: outcomes,
	}, nil
}

// onDeviceEffects describes the group effects for package cuda. The description has the place of
// their coordinates in θ and, for each record, its group and the value that a slope is multiplied
// by.
func (m *Model) onDeviceEffects(s *shard.Shard) (effects []cuda.Effect) {
	for _, e := range m.Effects() {
		effect := cuda.Effect{Spread: e.Spread, First: e.First, Groups: e.Levels}
		for i := range s.Len() {
			levels, slopes := s.Groups(i)
			effect.Group = append(effect.Group, int(levels[e.Term]))
			if e.Slope >= 0 {
				effect.Carrier = append(effect.Carrier, slopes[e.Slope])
			}
		}
		effects = append(effects, effect)
	}
	return effects
}

// onDeviceMixture describes the mixture for package cuda. The description has the records and the
// place of each mean and log standard deviation in θ. In θ, the stick-breaking coordinates come
// first, and then the means and log standard deviations, variable by variable, as in
// [Model.mixture].
func (m *Model) onDeviceMixture(rows []float64, share float64) cuda.Mixture {
	model := &m.Study.Model
	k, known := model.Components, model.ClusterSD > 0
	d := cuda.Mixture{Dim: m.Dim(), Components: k, Variables: len(model.Variables), Weights: !known, Rows: rows}
	if known {
		d.Precision = 1 / (model.ClusterSD * model.ClusterSD)
		for v := range model.Variables {
			d.Means = append(d.Means, v*k)
		}
		return d
	}
	d.Growth = 2
	for v := range model.Variables {
		d.Means, d.Spreads = append(d.Means, k-1+2*v*k), append(d.Spreads, k-1+(2*v+1)*k)
	}
	d.Base = cuda.Base{Share: share, Priors: make([]cuda.Prior, d.Dim)}
	for i, p := range m.Parameters.All() {
		d.Base.Mean, d.Base.SD = append(d.Base.Mean, p.Prior.Mean), append(d.Base.SD, p.Prior.SD)
		if i < k-1 {
			d.Base.Priors[i] = cuda.Prior{Kind: cuda.StickPrior, First: 1, Second: float64(k - 1 - i)}
		}
	}
	return d
}
