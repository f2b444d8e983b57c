package scoring

import (
	"math"
	"slices"

	"fedpvi/internal/guard"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/study"
)

// A comparison defines the last round of a study with [compare]. In this round, a held-out record
// contributes its log predictive density under the posterior of the round before, in the form that
// [describe.Scores] defines. All other records contribute zero. In earlier rounds, a held-out
// record contributes only to the tables.
type comparison struct {
	*study.Compare
	scores  *describe.Scores
	model   *fit.Model
	outcome string
}

func newComparison(st *study.Study, m *fit.Model) *comparison {
	if st.Compare == nil {
		return nil
	}
	return &comparison{st.Compare, describe.NewScores(st.Compare.Low, st.Compare.High), m, st.OutcomeScale()}
}

// HoldOut marks those records of r as held out for which out is true. r must come from
// [Problem.Open].
func HoldOut(r Records, out []bool) Records {
	own := r.(described)
	own.heldOut = out
	return own
}

// predictive is the posterior under which held-out records are scored.
type predictive struct {
	family  gaussian.Family
	natural []float64
}

// predictive returns the posterior of the state.
func (s *State) predictive() predictive {
	mean, cov := s.Posterior()
	p := predictive{family: gaussian.Full(len(mean))}
	p.natural = make([]float64, p.family.Size())
	if err := p.family.FromMoments(p.natural, mean, cov); err != nil {
		panic(notFinite{})
	}
	return p
}

// scoredTogether is the number of held-out records that are scored in one batch.
const scoredTogether = 256

// logDensities returns the log predictive densities of held-out records by index. Records for which
// the computation fails are left out.
func (q *Query) logDensities(of described) map[int]float64 {
	all := map[int]float64{}
	var rows []int
	for i, out := range of.heldOut {
		if out {
			rows = append(rows, i)
		}
	}
	for batch := range slices.Chunk(rows, scoredTogether) {
		var predictions []fit.Prediction
		compute := func(rows []int) {
			var err error
			if predictions, err = q.compared.model.Predict(of.shard.Select(rows), q.predictive.family, q.predictive.natural); err != nil {
				panic(err)
			}
		}
		_ = guard.Batch(batch, compute, func(rows []int) error {
			for k, i := range rows {
				all[i] = predictions[k].LogDensity
			}
			return nil
		}) // guard.Batch returns no error here
	}
	return all
}

// scored returns the estimates of the log predictive densities of held-out records.
func (o *opened) scored() *describe.Scored {
	sums := slices.Clone(o.values[predictiveBlock])
	for i := range sums {
		sums[i] /= o.scale
	}
	s := o.compared.scores.Estimate(sums, o.sd[predictiveBlock]/o.scale, o.answers, tableLevel)
	s.HeldOut, s.Outcome = o.compared.HeldOut, o.compared.outcome
	return s
}

// Scored returns the scores of held-out records, or nil if they have not been released.
func (s *State) Scored() *describe.Scored { return s.held }

// ScoresSD returns the standard deviation of the noise in the number of held-out records, and of
// that in the mean of n log predictive densities near the middle of their range. It assumes that
// all clients answer. The study must score held-out records.
func (p *Problem) ScoresSD(n float64) (count, mean float64) {
	sd := p.compared.scores.Norm() * p.NoiseSD / math.Sqrt(p.compared.Share)
	return p.compared.scores.CountSD(sd), p.compared.scores.MeanSD(sd, n)
}
