package sim

import (
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Rivals are plays of several settings of a study on the same records. Each client sets some
// records aside, and the plays are compared on those.
type Rivals struct {
	// Aside are the records set aside, by client. A coin decides for each record alone, without
	// reading it: adding or removing a record moves no other.
	Aside []*shard.Records

	cast    *cast
	options Options
}

// NewRivals reads or makes up the records of a study and sets the given share aside.
func NewRivals(st *study.Study, share float64, o Options) (*Rivals, error) {
	c, err := newCast(st, o.StudyFile, o.DataFile, o.Seed)
	if err != nil {
		return nil, err
	}
	r := &Rivals{cast: c, options: o}
	for m := range c.holders {
		h := &c.holders[m]
		coin := variates(o.Seed, purposeAside, uint64(m))
		var kept, aside []int
		for i := range h.Records.Len() {
			if coin.Float64() < share {
				aside = append(aside, i)
			} else {
				kept = append(kept, i)
			}
		}
		r.Aside = append(r.Aside, h.Records.Select(aside))
		h.Records = h.Records.Select(kept)
	}
	return r, nil
}

// trialStride separates the seeds of trials from each other and from those that a user would
// choose.
const trialStride = 1 << 40

// NewPlay sets up the play of one trial, with noise of its own. A second play of the same trial is
// identical.
func (r *Rivals) NewPlay(st *study.Study, trial int) (*Play, error) {
	return r.cast.play(st, Options{Seed: r.options.Seed + uint64(trial+1)*trialStride, Workers: r.options.Workers})
}

// ScoreNoise returns the stream of the noise on a client's scores.
func (r *Rivals) ScoreNoise(client int) *dpmech.Stream {
	return seeded.Stream(r.options.Seed, purposeScore, uint64(client))
}
