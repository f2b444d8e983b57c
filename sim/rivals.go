package sim

import (
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Rivals compares settings of a study. Each client sets some records aside. Runs on the other
// records are compared by how well they predict these.
type Rivals struct {
	// Aside holds the records that each client has set aside. A separate random draw decides for
	// each record, so that adding or removing one record does not affect the others.
	Aside []*shard.Records

	cast    *cast
	options Options
}

// NewRivals reads or generates the records of a study and sets the given share of them aside.
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

// trialStride is the distance between the seeds of two trials. It is so large that in practice no
// user chooses a seed that another trial uses.
const trialStride = 1 << 40

// NewPlay sets up a run of st: the original study or a copy with other settings. The same study and
// trial always give the same run.
func (r *Rivals) NewPlay(st *study.Study, trial int) (*Play, error) {
	return r.cast.play(st, Options{Seed: r.options.Seed + uint64(trial+1)*trialStride, Workers: r.options.Workers})
}

// ScoreNoise returns the stream of random numbers for the noise of a client's scores.
func (r *Rivals) ScoreNoise(client int) *dpmech.Stream {
	return seeded.Stream(r.options.Seed, purposeScore, uint64(client))
}
