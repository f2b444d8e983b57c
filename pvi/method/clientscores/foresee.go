package clientscores

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/population"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// foreseenClients is the largest number of synthetic clients in a simulated federation, and
// foreseenRecords is the largest number of synthetic records of one such client. Both numbers limit
// the time of a simulation. If the roster has more clients, each synthetic client counts as several
// clients.
const (
	foreseenClients = 100
	foreseenRecords = 400
)

// Foresee implements [method.Foreseeing]. All synthetic clients have records from the same
// distribution, with outcomes drawn from the model. The true coefficients are drawn from the prior.
// A client has the nominal number of records. If that is more than foreseenRecords, it has
// foreseenRecords records with larger weights.
func (m *Method) Foresee(federations int, played func(done, of int) error) ([]float64, error) {
	shares := make([][]float64, m.Model.Dim())
	for n := range federations {
		state, err := m.playMadeUp(n, func(round int) error { return played(n*len(m.weights)+round, federations*len(m.weights)) })
		if err != nil {
			return nil, err
		}
		covariance := m.units.Covariance(state.Posterior().Covariance())
		for i := range shares {
			shares[i] = append(shares[i], math.Sqrt(covariance.At(i, i))/m.Model.Parameters.Prior(i).SD)
		}
	}
	medians := make([]float64, len(shares))
	for i, s := range shares {
		slices.Sort(s)
		medians[i] = (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	}
	return medians, nil
}

// playMadeUp simulates all rounds of a study with synthetic clients, and returns the state after
// the last round. federation is a number on which the random draws depend. played is called with
// the number of each round.
func (m *Method) playMadeUp(federation int, played func(round int) error) (*population.State, error) {
	truth := m.normals(m.Model.Dim(), "truth of a made-up federation", federation)
	for i := range truth {
		prior := m.Model.Parameters.Prior(i)
		truth[i] = prior.Mean + prior.SD*truth[i]
	}
	clients := make([]*solver.Regression, min(m.Clients, foreseenClients))
	for k := range clients {
		var err error
		if clients[k], err = m.madeUpClient(federation*len(clients)+k, truth); err != nil {
			return nil, err
		}
	}
	each := float64(m.Clients) / float64(len(clients))
	size := m.Messages().Size
	state, vector := m.start(), make([]float64, size)
	for round, w := range m.weights {
		sum := m.normals(size, "noise of a made-up federation", federation*len(m.weights)+round)
		floats.Scale(m.Noise().SD*math.Sqrt(float64(m.Clients)), sum)
		query := state.Query(round + 1)
		for _, c := range clients {
			gradient, information, err := c.Score(m.units.From(query.Point))
			if err != nil {
				return nil, err
			}
			more := float64(m.Study.Federation.NominalRecords) / float64(len(c.Outcomes()))
			floats.Scale(more, gradient)
			information.ScaleSym(more, information)
			query.Vector(vector, m.units.Gradient(gradient), m.units.Information(information))
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

// madeUpClient returns the records of the synthetic client with the given number. Their outcomes
// are drawn from the model, whose coefficients are given by truth.
func (m *Method) madeUpClient(number int, truth []float64) (*solver.Regression, error) {
	n := min(m.Study.Federation.NominalRecords, foreseenRecords)
	r := m.Model.Regression(shard.Design(m.Study, method.MadeUp(m.Study, m.Digest, madeUpRecords+number*n, n)))
	response, err := r.Outcome().Described()
	if err != nil {
		return nil, err
	}
	eta, z := make([]float64, response.Size()), m.normals(2*n, "outcomes of a made-up client", number)
	for i := range n {
		r.Predictors(eta, i, truth)
		r.Outcomes()[i] = response.Outcome(eta, [2]float64{z[2*i], z[2*i+1]})
	}
	return r, nil
}

// normals returns n standard normal numbers that anyone can compute from the protocol's digest,
// the purpose and the number.
func (m *Method) normals(n int, purpose string, number int) []float64 {
	z := make([]float64, n)
	dpmech.FillPublicNormal(z, purpose, m.Digest, number)
	return z
}
