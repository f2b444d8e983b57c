package scores

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/scoring"
	"fedpvi/pvi/shard"
)

// A holding is a client of a study with [compare]. It holds random records out of the fit, and in
// the last round releases a sum over their log predictive densities.
//
// # Privacy
//
// A secret coin decides for each record, or for all records of a protected person, whether it is
// held out. The coins are drawn once for the whole study, independently of each other and of all
// records.
//
// So each coin can be regarded as a part of its record, and for fixed coins two neighbouring files
// differ in one record and its coin only. If the releases are private for all fixed coins, they are
// also private for random ones, because a mixture of pairs of distributions is no easier to tell
// apart than the worst pair. In round t, a record adds a vector of norm at most w_t, the clip of
// the round, whether or not it is held out:
//
//   - A record in the fit adds its vector of package scoring, and zero in the last round.
//   - A held-out record adds zero in the rounds of the fit, except for its tables. In the last
//     round it adds the vector of [describe.Scores] for its log predictive density, scaled from a
//     norm of at most 1 to w_t. The density depends on the record itself and on the public
//     posterior.
//
// The sum of a round therefore changes by at most w_t under add-remove, by at most 2w_t under
// replace-one, and by at most k times as much for a person with up to k records. The mechanism of
// the round clips each vector again, and its noise and its stated cost are for this sensitivity.
// The last round is one more release of the same composition. A record is charged for both uses,
// although it has only one of them.
//
// The coins must be secret, and must not be computed from row numbers: removing one row would move
// the coins of all rows after it.
type holding struct {
	*client
	shard *shard.Shard
	out   []bool // whether each record, or person, is held out; nil until the coins have been drawn
}

// Release implements [method.Client]. It draws the coins first.
func (h *holding) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	if h.out == nil {
		out, tosses := make([]bool, h.shard.Units()), new(dpmech.Stream)
		dpmech.Split(tosses, src) // the noise must have the same bits for any number of records
		for i := range out {
			out[i] = toss(tosses, h.method.Study.Compare.HeldOut)
		}
		tosses.Wipe()
		h.hold(out)
	}
	return h.client.Release(dst, t, src)
}

// toss returns true with the given probability, rounded to a multiple of 2^-53.
func toss(src *dpmech.Stream, probability float64) bool {
	const digits = 53
	return float64(src.Uint64()>>(64-digits)) < probability*(1<<digits)
}

// hold stores the coins and takes the held-out records out of the fit.
func (h *holding) hold(out []bool) {
	h.out = out
	h.client.records = scoring.HoldOut(h.client.records, h.rows())
}

// rows reports whether each record is held out.
func (h *holding) rows() []bool {
	rows := make([]bool, h.shard.Len())
	for i, is := range h.out {
		for row, end := h.shard.Unit(i); row < end; row++ {
			rows[row] = is
		}
	}
	return rows
}

// coins records which records or persons are held out. It must not leave the client.
type coins struct {
	Units   int    // number of records or persons
	HeldOut []byte // one bit per record or person, lowest bit first
}

func (h *holding) Save(m *method.Memory) {
	h.client.Save(m)
	if h.out == nil {
		return
	}
	c := coins{len(h.out), make([]byte, (len(h.out)+7)/8)}
	for i, is := range h.out {
		if is {
			c.HeldOut[i/8] |= 1 << (i % 8)
		}
	}
	var err error
	if m.Parts, err = json.Marshal(c); err != nil {
		panic("scores: " + err.Error()) // unreachable: bytes and integers always marshal
	}
}

func (h *holding) Check(m *method.Memory, answered int) error {
	rest := *m
	rest.Parts = nil
	return h.client.Check(&rest, answered)
}

// Restore refuses a state that has releases but no coins. If coins were drawn again, a record that
// was used in the fit could be scored.
func (h *holding) Restore(m *method.Memory) error {
	if (m.Parts != nil) != (m.Spent.Statistics > 0) {
		return errors.New("the choice of held-out records is missing, or was made before any release")
	}
	if m.Parts != nil {
		var c coins
		d := json.NewDecoder(bytes.NewReader(m.Parts))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return fmt.Errorf("the choice of held-out records cannot be read: %w", err)
		}
		if c.Units != h.shard.Units() || len(c.HeldOut) != (c.Units+7)/8 {
			return errors.New("the choice of held-out records is for a different number of records than the client has: its records must stay the same for the whole study")
		}
		out := make([]bool, c.Units)
		for i := range out {
			out[i] = c.HeldOut[i/8]>>(i%8)&1 == 1
		}
		h.hold(out)
	}
	return h.client.Restore(m)
}
