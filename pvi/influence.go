package pvi

import (
	"math"
	"slices"
)

// An Influence describes how much one client's answer affected a round. It is computed from
// published releases only.
type Influence struct {
	Client ClientID `json:"client"`
	// Norm is the L2 norm of the answer, divided by the median norm of the other answers.
	Norm float64 `json:"norm"`
	// Shift is how far the mean of q would move without the answer: the largest change of a
	// coordinate, in standard deviations of q. If the study reports point estimates, those of the
	// prior are used instead. Shift is 0 if λ is rejected with and without the answer, or if the
	// server does not compute it.
	Shift float64 `json:"shift"`
	// Blocks is true if λ was rejected, but would have been accepted without this answer.
	Blocks bool `json:"blocks,omitempty"`
}

// Watch makes the server compute the [Influence] of each answer at the end of a round, if the study
// publishes releases. This takes about as long for each answer as ending the round does.
func (s *Server) Watch() { s.watching = true }

// Influences returns the influences of the answers in the last finished round, in the order of
// clients. It returns nil unless the study publishes releases and Watch was called.
func (s *Server) Influences() []Influence { return s.influences }

const (
	// [Influence].Shift is computed only if q has at most mostShifts natural parameters.
	mostShifts = 1 << 12

	// [Influence].Shift is computed only if the number of answers times the number of natural
	// parameters is at most mostRefits. The limit matters for methods that compute q anew from the
	// sums of all rounds.
	mostRefits = 1 << 11
)

// shifts reports whether computing [Influence].Shift is cheap enough for the given number of
// answers.
func (s *Server) shifts(answers int) bool {
	size := s.protocol.family.Size()
	return size <= mostShifts && (s.protocol.method.Exact() || answers*size <= mostRefits)
}

// influence computes the influence of each answer in a round that is about to end.
func (s *Server) influence(number int, r *round) []Influence {
	size, n := s.protocol.messages.Size, len(r.Answered)
	if !s.watching || len(r.Releases) == 0 || n < 2 {
		return nil
	}
	norms := make([]float64, n)
	for m := range norms {
		for _, e := range r.Releases[m*size:][:size] {
			norms[m] = math.Hypot(norms[m], float64(e))
		}
	}
	proper := s.q.try(number, n, s.protocol.combined(n, r.Sum, r.Releases), r.Centre)
	var mean, sds []float64
	if proper && s.shifts(n) {
		if mean, sds = s.triedMoments(); s.protocol.study.Points() {
			for i := range sds {
				sds[i] = s.protocol.model.Parameters.Prior(i).SD
			}
		}
	}
	all, rest := make([]Influence, n), make([]int64, size)
	for m, client := range r.Answered {
		others := slices.Delete(slices.Clone(norms), m, m+1)
		slices.Sort(others)
		all[m] = Influence{Client: client, Norm: norms[m] / math.Max(others[len(others)/2], 1)}
		if proper && mean == nil {
			continue
		}
		for i, e := range r.Releases[m*size:][:size] {
			rest[i] = r.Sum[i] - e
		}
		without := slices.Delete(slices.Clone(r.Releases), m*size, (m+1)*size)
		if s.q.try(number, n-1, s.protocol.combined(n-1, rest, without), r.Centre) {
			all[m].Blocks = !proper
			all[m].Shift = s.shift(mean, sds)
		}
	}
	s.q.tried = nil
	return all
}

// triedMoments returns the mean and the standard deviations of the q that the last call to try
// computed.
func (s *Server) triedMoments() (mean, sds []float64) {
	var m moments
	s.q.there(func() { s.q.moments(&m) })
	if !m.known {
		return nil, nil
	}
	mean, variances, err := s.protocol.family.Marginals(m.natural)
	if err != nil {
		return nil, nil
	}
	for i, v := range variances {
		variances[i] = math.Sqrt(v)
	}
	return mean, variances
}

// shift returns the largest difference between mean and the mean that the last call to try led to,
// in units of sds.
func (s *Server) shift(mean, sds []float64) (largest float64) {
	if mean == nil {
		return 0
	}
	other, _ := s.triedMoments()
	for i, x := range other {
		largest = math.Max(largest, math.Abs(x-mean[i])/sds[i])
	}
	return largest
}
