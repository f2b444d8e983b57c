package sim

import (
	"errors"
	"math"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const (
	// gradientRecords is the number of generated records whose gradients are measured.
	gradientRecords = 500
	// apart stands for very many clients in GradientNorms. A client's log likelihood includes its
	// share of a prior that is not Gaussian, and with this many clients the share is almost
	// nothing.
	apart = 1 << 40
)

// GradientNorms draws θ and records from the study's model. It returns the norms of the gradients
// of the records' log likelihoods at θ, which help to choose a clip without looking at private
// records.
func GradientNorms(st *study.Study, seed uint64) ([]float64, error) {
	if st.Simulation.Synthetic == nil {
		return nil, errors.New("gradients are measured on made-up records, but the study has no simulation.synthetic")
	}
	made, synthetic := *st, *st.Simulation.Synthetic
	synthetic.RecordsPerClient = gradientRecords
	made.Simulation.Synthetic = &synthetic
	m, err := fit.New(&made)
	if err != nil {
		return nil, err
	}
	truth, err := DrawTruth(m, variates(seed, purposeTruth))
	if err != nil {
		return nil, err
	}
	records, err := synthesiseClient(m, clientID(0, 1), truth, variates(seed, purposeData))
	if err != nil {
		return nil, err
	}
	norms := make([]float64, records.Len())
	for i := range norms {
		one, err := m.Records(shard.Design(&made, records.Select([]int{i})), apart)
		if err != nil {
			return nil, err
		}
		gradient := make([]float64, len(truth))
		one.AddGradient(gradient, truth)
		for _, x := range gradient {
			norms[i] = math.Hypot(norms[i], x)
		}
	}
	return norms, nil
}
