package session

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// poisoned returns a copy of a release, in which all numbers from index from on are replaced by
// −2^bits, 0 or 2^bits at random. In all kinds of releases, the numbers come last.
func poisoned(release []byte, from, bits int, random *rand.Rand) []byte {
	out := append([]byte(nil), release...)
	for at := len(out) - 8; at >= from; at -= 8 {
		n := (int64(1) << bits) * int64(random.IntN(3)-1)
		binary.LittleEndian.PutUint64(out[at:], uint64(n))
	}
	return out
}

// numbersFrom returns the index where the numbers of a release begin. They come after their length.
func numbersFrom(release []byte) int {
	for n := 1; 8*n+4 < len(release); n++ {
		at := len(release) - 8*n - 4
		if binary.LittleEndian.Uint32(release[at:]) == uint32(n) {
			return at + 4
		}
	}
	return len(release)
}

// A client sends the most harmful release that the server accepts. Either the round is rejected, or
// the posterior is useless.
//
//abuse:case A13 at most a round is rejected, by a public rule
//abuse:case A20 no study ends by it
func TestPoisonDoesNotEndAStudy(t *testing.T) {
	for name, st := range map[string]*study.Study{
		"every phase":                     everyPhase(t),
		"client":                          planeStudy(t, clientPrivacy, "", ""),
		"records":                         planeStudy(t, recordPrivacy, "", ""),
		"steps":                           planeStudy(t, recordPrivacy, steps, ""),
		"scores":                          planeStudy(t, recordPrivacy, "solver = \"scoring\"", "nominal_records = 20", fourRounds...),
		"scores and a scale of the noise": planeStudy(t, recordPrivacy, "solver = \"scoring\"", "nominal_records = 20", append(slices.Clip(fourRounds), study.Override{Key: "model.noise_sd", Value: `"learned"`})...),
		"clients' scores":                 planeStudy(t, "unit = \"client\"\nnoise_multiplier = 0.5\ndelta = 1e-5", "solver = \"scoring\"", "nominal_records = 20"),
		"a scale":                         planeStudy(t, clientPrivacy, "", "", scaledPrivately...),
		"a scale, records":                planeStudy(t, recordPrivacy, "", "", scaledPrivately...),
		"no promise":                      planeStudy(t, noPrivacy, "", "", scaled...),
		"the last round":                  planeStudy(t, recordPrivacy, steps+"\nnoise_aware = \"one-step\"", ""),
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				random := rand.New(rand.NewPCG(1, seed))
				h := newHouse(t, st, 2)
				for !h.server.Done() {
					h.next()
					for m, site := range h.sites {
						ask, ok := site.Pending()
						if !ok {
							continue
						}
						a, err := site.Answer(seeded.Stream(1, "stage", uint64(m), uint64(ask)))
						switch {
						case err == nil:
							h.poison(m, a, random)
						case m == 0:
							// Client 0 may fail here, because its state does not have the numbers that were sent in its
							// name.
						default:
							t.Log(err)
						}
					}
					for _, ask := range h.server.Open() {
						h.close(ask)
					}
				}
				_, err := h.server.Result()
				check(t, err)
				_, err = h.sites[1].Result()
				check(t, err)
			}
		})
	}
}

// poison sends the answer of client m and delivers the outcome. If m is 0, it first replaces the
// numbers by 0 and ±2^bits, with the largest bits that the server accepts.
func (h *house) poison(m int, a Answer, random *rand.Rand) {
	h.t.Helper()
	for bits := 62; ; bits-- {
		if bits == 0 {
			h.t.Fatal("no other answer is taken")
		}
		release := a.Release
		if m == 0 {
			release = poisoned(release, numbersFrom(release), bits, random)
		}
		e, err := h.server.Collect(h.roster[m], a.Plan, release)
		var refused *pvi.Refused
		if errors.As(err, &refused) {
			continue
		}
		check(h.t, err)
		if e != nil {
			h.say(e)
		}
		return
	}
}
