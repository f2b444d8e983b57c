package pvi

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// rounded is implemented by methods that have a mechanism for each round.
type rounded interface {
	method.Method
	Mechanism(round int) *dpmech.GaussianSum
}

// neighbours returns two neighbouring data sets of one client. Depending on unit and adjacency, one
// has an additional record, or one record is replaced, or all records are replaced by others or by
// zeros. Some numbers are extreme or not finite.
func neighbours(r *rand.Rand, unit study.Unit, adjacency accountant.Adjacency) [2]*shard.Records {
	number := func(most float64) float64 {
		switch r.IntN(5) {
		case 0:
			return []float64{0, most, -most}[r.IntN(3)]
		case 1:
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 5e-324}[r.IntN(6)]
		default:
			return most * (2*r.Float64() - 1)
		}
	}
	some := func(n int) *shard.Records {
		records := new(shard.Records)
		for range n {
			records.Append([]float64{number(1), number(10)})
		}
		return records
	}
	if unit == study.Client && adjacency == accountant.ZeroOut {
		zero := new(shard.Records)
		// Missing values count as zero.
		zero.Append([]float64{math.NaN(), math.NaN()})
		return [2]*shard.Records{some(1 + r.IntN(60)), zero}
	}
	if unit == study.Client {
		return [2]*shard.Records{some(1 + r.IntN(60)), some(1 + r.IntN(60))}
	}
	with, without := new(shard.Records), new(shard.Records)
	for range r.IntN(5) {
		row := []float64{number(1), number(10)}
		with.Append(row)
		without.Append(row)
	}
	with.Append([]float64{number(1), number(10)})
	if adjacency == accountant.ReplaceOne {
		without.Append([]float64{number(1), number(10)})
	}
	return [2]*shard.Records{with, without}
}

// Given the same noise, releases from neighbouring records differ by at most the sensitivity that
// the accountant assumes. This holds for any sums opened before, and after missed or void rounds.
// Releases never cost more than is charged for them, and both data sets lead to the same errors.
//
//abuse:case P19 scores of neighbouring data differ by the accounted sensitivity at most, whatever was asked before
func TestScoresOfNeighbours(t *testing.T) {
	worlds := 40
	if testing.Short() {
		worlds = 5
	}
	for _, c := range []struct {
		unit      study.Unit
		adjacency accountant.Adjacency
		settings  string
	}{
		{study.Record, accountant.AddRemove, "min_clients = 3"},
		{study.Record, accountant.ReplaceOne, "opens = \"sums\"\nmin_clients = 3\ncolluders = 1"},
		{study.Client, accountant.ZeroOut, "min_clients = 3\ncolluders = 1"},
		{study.Client, accountant.ReplaceOne, "min_clients = 3"},
	} {
		t.Run(fmt.Sprintf("%s, %s", c.unit, c.adjacency), func(t *testing.T) {
			p := protocolFor(t, 4, string(linestudy.Document(linestudy.Parts{
				Privacy:    fmt.Sprintf("unit = %q\nadjacency = %q\nnoise_multiplier = 0.5\ndelta = 1e-5", c.unit, c.adjacency),
				Inference:  "rounds = 6\n" + scoringInference,
				Federation: "nominal_records = 15\n" + c.settings,
			})))
			farthest := 0.0
			for seed := range uint64(worlds) {
				r := rand.New(rand.NewPCG(seed, 5))
				farthest = max(farthest, playNeighbours(t, p, r, neighbours(r, c.unit, c.adjacency)))
			}
			t.Logf("no more than %.3f of the sensitivity", farthest)
			if farthest > 1 || farthest < .4 {
				t.Errorf("releases differ by %.6f of the accounted sensitivity", farthest)
			}
		})
	}
}

// playNeighbours runs two sites with the same noise, and returns the largest difference between
// their releases, relative to the sensitivity that the accountant assumes.
func playNeighbours(t *testing.T, p *Protocol, r *rand.Rand, data [2]*shard.Records) (farthest float64) {
	t.Helper()
	var sites [2]*Site
	for i := range sites {
		sites[i] = site(t, p, shard.Design(p.study, data[i]))
	}
	rounds := p.method.(rounded)
	adjacency := p.study.Privacy.Adjacency
	var released accountant.Composed
	for round := 1; round <= p.Plans(); round++ {
		answers := r.IntN(5) > 0
		if answers {
			plan := &Plan{Protocol: p.digest, Number: round, Lambda: sites[0].Lambda(), Participants: p.Roster()}
			var changes [2]Release
			var errs [2]error
			for i, s := range sites {
				errs[i] = s.Propose(&changes[i], plan, seeded.Stream(uint64(round), "neighbours"))
			}
			event := rounds.Mechanism(round).EventFor(1, adjacency)
			released = append(released, event)
			if (errs[0] == nil) != (errs[1] == nil) || errs[0] != nil && errs[0].Error() != errs[1].Error() {
				t.Fatalf("round %d: the errors are %v and %v", round, errs[0], errs[1])
			}
			farthest = max(farthest, apart(changes[0].Change, changes[1].Change)/event.(accountant.DiscreteGaussian).Sensitivity)
			checkCharged(t, p, released, sites[0].Releases())
		}
		settleHostile(t, p, r, round, answers, sites)
	}
	return farthest
}

// apart returns the L2 norm of the difference between two vectors.
func apart(a, b []int64) float64 {
	sum := new(big.Int)
	for i, x := range a {
		gap := new(big.Int).Sub(big.NewInt(x), big.NewInt(b[i]))
		sum.Add(sum, gap.Mul(gap, gap))
	}
	norm, _ := new(big.Float).Sqrt(new(big.Float).SetInt(sum)).Float64()
	return norm
}

// checkCharged fails the test if n releases cost more than the charges for n releases.
func checkCharged(t *testing.T, p *Protocol, released accountant.Composed, n int) {
	t.Helper()
	if n != len(released) {
		t.Fatalf("%d releases, %d charged", len(released), n)
	}
	charged := accountant.Composed{}
	for k := range n {
		e, err := p.method.Increment(1, p.study.Privacy.Adjacency, k, k+1)
		check(t, err)
		charged = append(charged, e)
	}
	const rounding = 1e-12 // the charges are added in a different order
	for _, order := range []float64{1.5, 8} {
		spent, err1 := accountant.Renyi(released, order)
		paid, err2 := accountant.Renyi(charged, order)
		if err1 != nil || err2 != nil || spent > paid*(1+rounding) {
			t.Fatalf("releases with a divergence of %g are charged with %g (%v, %v)", spent, paid, err1, err2)
		}
	}
}

// settleHostile ends a round with a void outcome or with made-up numbers as its sum.
func settleHostile(t *testing.T, p *Protocol, r *rand.Rand, round int, answered bool, sites [2]*Site) {
	t.Helper()
	o := &Outcome{Protocol: p.digest, Sequence: round, Number: round, Verdict: Void}
	if r.IntN(4) > 0 {
		o.Verdict, o.Participants = Accepted, p.Roster()
		if !answered {
			o.Participants = o.Participants[1:]
		}
		o.Sum = make([]int64, p.messages.Size)
		most := float64(p.messages.Range.Of(len(o.Participants)))
		size := most * math.Exp2(-40*r.Float64())
		for i := range o.Sum {
			o.Sum[i] = int64(size * (2*r.Float64() - 1))
		}
	}
	for _, s := range sites {
		err := s.Settle(o)
		if err != nil && o.Verdict == Accepted {
			o.Verdict = Rejected
			err = s.Settle(o)
		}
		check(t, err)
	}
}

// FuzzRestoreScores restores both methods that release scores from arbitrary bytes, with limited
// memory. A walk that accepts the bytes must save the same bytes again.
func FuzzRestoreScores(f *testing.F) {
	var protocols []*Protocol
	var fixed uint64
	for _, privacy := range []string{recordPrivacy, scoringPrivacy} {
		h := scoringHouse(f, 2, privacy, "", "")
		h.run()
		saved := h.server.q.walk.Save()
		f.Add(saved)
		f.Add(saved[:len(saved)/2])
		f.Add(append(slices.Clone(saved), saved...))
		// fresh is a walk that has taken no steps.
		fresh := scoringHouse(f, 2, privacy, "", "").protocol
		protocols = append(protocols, fresh)
		fixed = max(fixed, memory.Allocated(func() { restoreWalk(f, fresh, saved) }))
	}
	f.Add([]byte{1, 1})
	f.Fuzz(func(t *testing.T, saved []byte) {
		for _, p := range protocols {
			memory.Beside(t, 2*fixed, len(saved), func() { restoreWalk(t, p, saved) })
		}
	})
}

func restoreWalk(t testing.TB, p *Protocol, saved []byte) {
	t.Helper()
	q := newPosterior(p)
	moves, err := q.walk.Restore(nil, saved, false)
	if err != nil || !q.take(moves) {
		return
	}
	if again := q.walk.Save(); !slices.Equal(again, saved) {
		t.Fatalf("a walk that was restored from %x saves %x", saved, again)
	}
}
