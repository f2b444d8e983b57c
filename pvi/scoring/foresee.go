package scoring

import (
	"math"
	"slices"
)

// Foresee simulates the study with made-up federations. It draws the true θ from the prior, and
// records from the public description of the columns; the standard deviations of numbers are
// multiplied by extent. For each coordinate of θ it returns the posterior standard deviation
// relative to that of the prior, as a median over the federations. After each round Foresee calls
// played with the number of finished rounds and of all rounds. If played returns an error, Foresee
// returns it.
func (p *Problem) Foresee(federations int, extent float64, played func(done, of int) error) ([]float64, error) {
	_, before := p.Begin().Posterior()
	shares := make([][]float64, len(p.order))
	for n := range federations {
		s, err := p.playMadeUp(n, extent, func(round int) error { return played(n*p.Rounds+round, federations*p.Rounds) })
		if err != nil {
			return nil, err
		}
		_, cov := s.Posterior()
		for i := range shares {
			shares[i] = append(shares[i], math.Sqrt(cov.At(i, i)/before.At(i, i)))
		}
	}
	medians := make([]float64, len(p.order))
	for i, s := range shares {
		slices.Sort(s)
		medians[i] = (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	}
	return medians, nil
}

const foreseenStep = 0x1p-20

// playMadeUp simulates all rounds with made-up records, each of which stands for several real ones.
// Its random numbers depend on number. It calls played with the number of each round.
func (p *Problem) playMadeUp(number int, extent float64, played func(round int) error) (*State, error) {
	s := p.Begin()
	truth := p.prior.Draw(p.normals(len(p.order), "foreseen truth", number))
	records := s.margins.narrowed(extent).madeUp().drawn(truth, number)
	each := p.Records / madeUpRecords
	sd := p.NoiseSD / math.Sqrt(p.budget.largest)
	for round := 1; round <= p.Rounds; round++ {
		q, err := s.Query(round)
		if err != nil {
			return nil, err
		}
		c, vector := q.Contributor(records), make([]float64, p.Size(round))
		sums := p.normals(len(vector), "foreseen noise", number*p.Rounds+round)
		for j := range sums {
			sums[j] *= sd
		}
		for i := range records.Len() {
			c.Vector(vector, i)
			for j, v := range vector {
				sums[j] += each * v
			}
		}
		elements := make([]int64, len(sums))
		for j, v := range sums {
			elements[j] = int64(math.Round(v / foreseenStep))
		}
		if s, err = s.Step(round, p.Clients, elements, foreseenStep, sd/foreseenStep/math.Sqrt(float64(p.Clients))); err != nil {
			return nil, err
		}
		if err := played(round); err != nil {
			return nil, err
		}
	}
	return s, nil
}
