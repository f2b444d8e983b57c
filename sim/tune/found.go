package tune

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Row describes how a candidate fared.
type Row struct {
	Candidate
	Runs int `json:"runs"`
	// Score is the candidate's mean score over runs on records that played no part in choosing the
	// best candidates. It is nil if no such run has a score.
	Score *float64 `json:"score,omitempty"`
	Error *float64 `json:"standard_error,omitempty"`

	// Gain is how much higher the score is than with the default settings on the same records,
	// averaged over runs.
	Gain      *float64 `json:"gain,omitempty"`
	GainError *float64 `json:"gain_standard_error,omitempty"`

	// Failed is the candidate's error, or empty if it did not fail.
	Failed string `json:"failed,omitempty"`

	scores []float64
}

// Found describes the result of a search.
type Found struct {
	Study  string `json:"study"`
	Digest string `json:"digest"` // SHA-256 of the study document
	Data   string `json:"data"`   // description of the records that the search used
	Public bool   `json:"public"` // whether the records come from files that the user declares public
	Score  Score  `json:"score"`
	Seed   uint64 `json:"seed"`
	Runs   int    `json:"runs"`
	Tried  int    `json:"candidates"`
	Failed int    `json:"failed"`

	Rows []Row `json:"rows"` // rows of the best candidates and the default settings, in the order of their scores
	// index of the recommended row: the default settings, unless another is significantly better
	Best int `json:"best"`
}

func (s *Search) tally(trials []trial) []Row {
	rows := make([]Row, len(s.candidates))
	for _, t := range trials {
		r := &rows[t.candidate]
		r.Candidate = s.candidates[t.candidate]
		r.Runs++
		if t.err != nil {
			r.Failed = t.err.Error()
			continue
		}
		r.scores = append(r.scores, t.score)
	}
	for i := range rows {
		if r := &rows[i]; r.Runs > 0 && r.Failed == "" {
			r.Score, r.Error = meanError(r.scores)
		}
	}
	return rows
}

func meanError(values []float64) (mean, err *float64) {
	m, sd := stat.MeanStdDev(values, nil)
	e := sd / math.Sqrt(float64(len(values)))
	return &m, &e
}

// byScore orders rows by score with the best first. Rows without a score come last.
func byScore(a, b Row) int {
	switch {
	case a.Score != nil && b.Score != nil:
		return cmp.Compare(*b.Score, *a.Score)
	case a.Score != nil:
		return -1
	case b.Score != nil:
		return 1
	}
	return 0
}

// certain reports whether a candidate is better than the default settings, by a one-sided t-test at
// level 1/40.
func (r *Row) certain() bool {
	if r.Gain == nil {
		return false
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(r.Runs - 1)}.Quantile(1 - 1./40)
	return *r.Gain > t**r.GainError
}

// found returns the result of a search. looked has the rows of all candidates. compared has those
// of the best candidates, which were compared on other records.
func (s *Search) found(looked, compared []Row, runs int) *Found {
	f := &Found{
		Study: s.base.Name, Digest: s.base.Digest.String(), Data: s.source.words, Public: s.source.public,
		Score: s.o.Score, Seed: s.o.Seed, Runs: runs, Tried: len(s.candidates),
	}
	for _, r := range looked {
		if r.Failed != "" {
			f.Failed++
		}
	}
	rule := compared[0].scores
	for _, r := range compared {
		if r.Runs == 0 {
			continue
		}
		if r.Name != Rule && r.Failed == "" {
			r.Gain, r.GainError = meanError(floats.SubTo(make([]float64, len(rule)), r.scores, rule))
		}
		f.Rows = append(f.Rows, r)
	}
	slices.SortStableFunc(f.Rows, byScore)
	f.Best = slices.IndexFunc(f.Rows, func(r Row) bool {
		return r.Name == Rule || r.certain()
	})
	return f
}
