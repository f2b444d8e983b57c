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
	// apart is a very large number of clients for GradientNorms. A client's log likelihood includes
	// its share of a prior that is not Gaussian, which is almost nothing with so many clients.
	apart = 1 << 40
)

// GradientNorms draws θ and records from the study's model, and returns the norms of the records'
// gradients of the log likelihood at θ. They help to choose a clip without private records.
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
