package clientscores

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/method"
	"fedpvi/pvi/population"
	"fedpvi/pvi/shard"
)

// These limits on simulated federations save time. A synthetic client or record may stand for
// several.
const (
	foreseenClients = 100
	foreseenRecords = 400

	foreseenClientsOfFormula = 25
	foreseenRecordsOfFormula = 40
)

// foreseen returns the largest number of simulated clients, and of records per client.
func (m *Method) foreseen() (clients, records int) {
	if m.model.begins() {
		return foreseenClientsOfFormula, foreseenRecordsOfFormula
	}
	return foreseenClients, foreseenRecords
}

// Foresee implements [method.Foreseeing]. It draws the true coefficients from the prior. Each
// synthetic client has the nominal number of records. They all come from the same distribution, and
// the model determines their outcomes. If there are more than foreseenRecords or
// foreseenRecordsOfFormula records, the simulation uses fewer of them with larger weights.
func (m *Method) Foresee(federations int, extent float64, played func(done, of int) error) ([]float64, error) {
	shares := make([][]float64, m.Model.Dim())
	prior := m.model.prior()
	for n := range federations {
		state, err := m.playMadeUp(n, extent, func(round int) error { return played(n*len(m.weights)+round, federations*len(m.weights)) })
		if err != nil {
			return nil, err
		}
		covariance := m.units.Covariance(state.Posterior().Covariance())
		for i := range shares {
			shares[i] = append(shares[i], math.Sqrt(covariance.At(i, i))/prior.sd[i])
		}
	}
	medians := make([]float64, len(shares))
	for i, s := range shares {
		slices.Sort(s)
		medians[i] = (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	}
	return medians, nil
}

// playMadeUp simulates all rounds with synthetic clients. federation determines the random numbers.
// After each round playMadeUp calls played with the round's number.
func (m *Method) playMadeUp(federation int, extent float64, played func(round int) error) (*population.State, error) {
	truth := m.model.draw(normals(m.Setting, "truth of a made-up federation", federation)(m.Model.Dim()))
	most, _ := m.foreseen()
	clients := make([]records, min(m.Clients, most))
	for k := range clients {
		var err error
		if clients[k], err = m.madeUpClient(federation*len(clients)+k, extent, truth); err != nil {
			return nil, err
		}
	}
	each := float64(m.Clients) / float64(len(clients))
	size := m.Messages().Size
	state, vector := m.start(), make([]float64, size)
	for round, w := range m.weights {
		sum := normals(m.Setting, "noise of a made-up federation", federation*len(m.weights)+round)(size)
		floats.Scale(m.Noise().SD*math.Sqrt(float64(m.Clients)), sum)
		query := state.Query(round + 1)
		for _, c := range clients {
			if err := answer(m, vector, c, query, float64(m.Study.Federation.NominalRecords)/float64(c.len())); err != nil {
				return nil, err
			}
			floats.AddScaled(sum, each*w, vector)
		}
		var ok bool
		if state, ok = state.Next(round+1, m.Clients, sum); !ok {
			return nil, errors.New("a made-up federation has no posterior")
		}
		if err := played(round + 1); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// madeUpClient returns the records of a synthetic client, whose outcomes are drawn from the model
// at truth.
func (m *Method) madeUpClient(number int, extent float64, truth []float64) (records, error) {
	_, most := m.foreseen()
	n := min(m.Study.Federation.NominalRecords, most)
	s := shard.Design(m.Study, method.MadeUpWithin(m.Study, m.Digest, madeUpRecords+number*n, n, extent))
	return m.model.madeUp(s, truth, normals(m.Setting, "outcomes of a made-up client", number))
}
