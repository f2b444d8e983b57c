package session

import (
	"math"

	"fedpvi/pvi"
)

// A Trace has the mean of q after each round of a finished study. It shows whether the rounds
// converged. It is computed from published messages.
type Trace struct {
	Names  []string      `json:"names"`
	SDs    string        `json:"distances_in_sds_of"` // whose standard deviations are the unit of distances: those of "the posterior", or of "the prior" for point estimates
	Rounds []TracedRound `json:"rounds"`
}

// A TracedRound is a finished round with the mean of q after it.
type TracedRound struct {
	Round
	Mean     []float64 `json:"mean"`                   // mean of q, on the model's scale
	Distance []float64 `json:"from_the_result_in_sds"` // mean of q minus the mean in the result, in standard deviations
}

// Traced returns the round of the given plan, with the mean of q after it, if that round has just
// ended. [Posterior.Trace] adds the distances.
func (s *Server) Traced(plan int) (TracedRound, bool) {
	last, ok := s.Last(plan)
	if !ok {
		return TracedRound{}, false
	}
	family := s.course.protocol.Family()
	t := TracedRound{Round: last, Mean: make([]float64, family.Dim())}
	err := family.Mean(t.Mean, s.rounds.Posterior())
	return t, err == nil
}

// Trace returns the trace of the given rounds, which come from [Server.Traced]. It adds the
// distances from the mean of q to the mean of the final posterior, in standard deviations.
func (p *Posterior) Trace(rounds []TracedRound) *Trace {
	t := &Trace{SDs: "the posterior", Rounds: rounds}
	mean, sds := p.Result.Mean, make([]float64, len(p.Result.Mean))
	for i, q := range p.model.Parameters.All() {
		t.Names, sds[i] = append(t.Names, q.Name), q.Prior.SD
	}
	if p.Estimates != nil || p.model.Study.Model.Absent() {
		t.SDs = "the prior"
	} else {
		var cov interface{ At(i, j int) float64 }
		mean, cov = p.Moments()
		for i := range sds {
			sds[i] = math.Sqrt(cov.At(i, i))
		}
	}
	for k := range rounds {
		r := &rounds[k]
		r.Distance = make([]float64, len(mean))
		for i, x := range r.Mean {
			r.Distance[i] = (x - mean[i]) / sds[i]
		}
	}
	return t
}

// An Influential says how much the answers of one client changed the posterior over all rounds.
type Influential struct {
	Client  pvi.ClientID `json:"client"`
	Answers int          `json:"answers"`
	Norm    float64      `json:"norm"`              // largest norm of an answer, relative to the median norm of the others
	Shift   float64      `json:"shift"`             // largest [pvi.Influence.Shift]
	Plan    int          `json:"plan,omitempty"`    // plan in which the shift was largest, or 0
	Blocked int          `json:"blocked,omitempty"` // number of rejected rounds that would have been accepted without this client
}

// Influential returns one element for each client that has answered, in the order of their first
// answers. If the study does not publish releases, the list is empty.
func (t *Trace) Influential() []Influential {
	at := map[pvi.ClientID]int{}
	var all []Influential
	for _, r := range t.Rounds {
		for _, i := range r.Influences {
			k, ok := at[i.Client]
			if !ok {
				k = len(all)
				at[i.Client], all = k, append(all, Influential{Client: i.Client})
			}
			c := &all[k]
			c.Answers++
			c.Norm = max(c.Norm, i.Norm)
			if i.Shift > c.Shift {
				c.Shift, c.Plan = i.Shift, r.Plan
			}
			if i.Blocks {
				c.Blocked++
			}
		}
	}
	return all
}
