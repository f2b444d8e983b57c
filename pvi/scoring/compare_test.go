package scoring_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/scoring"
	"fedpvi/pvi/shard"
)

// comparing changes the setting to one whose study scores held-out records.
func (s setting) comparing(keys string) setting {
	s.outcome += "\n[compare]\n" + keys + "\n"
	return s
}

// comparing changes the program to one whose study scores held-out records.
func (s scripted) comparing(keys string) scripted {
	s.columns += "[compare]\n" + keys + "\n"
	return s
}

// lot holds out each of n records with probability one half.
func lot(n int, seed uint64) []bool {
	out, r := make([]bool, n), rand.New(rand.NewPCG(seed, 12))
	for i := range out {
		out[i] = r.IntN(2) == 0
	}
	return out
}

// densities returns log predictive densities under the posterior of a state.
func (w *world) densities(t testing.TB, s *scoring.State, records *shard.Shard) (logs []float64) {
	t.Helper()
	mean, cov := s.Posterior()
	family := gaussian.Full(len(mean))
	natural := make([]float64, family.Size())
	check(t, family.FromMoments(natural, mean, cov))
	predictions, err := w.model.Predict(records, family, natural)
	check(t, err)
	for _, p := range predictions {
		logs = append(logs, p.LogDensity)
	}
	return logs
}

func rowsOf(out []bool, chosen bool) (rows []int) {
	for i, is := range out {
		if is == chosen {
			rows = append(rows, i)
		}
	}
	return rows
}

// Leaving out a record changes a sum by its vector and nothing else, and the vector is not longer
// than the clipping bound. A held-out record adds nothing to the fit, and a record used in the fit
// adds nothing to the last round. All rounds together cost the budget, and the last round costs its
// share of it.
func TestHeldOutOfNeighbours(t *testing.T) {
	worlds := map[string]*world{
		"program": programs["linear"].comparing("clip = [-3, 0]\nshare = 0.2").world(t, 200, 3, 1),
		"groups":  grouped["groups, linear"].comparing("share = 0.2").world(t, 3, 1),
	}
	for _, name := range []string{"logistic", "learned", "negative", "softmax"} {
		s := families[name]
		s.n = 200
		worlds[name] = s.comparing("share = 0.2").world(t, 3, 1)
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			var squares float64
			for round := 1; round <= w.Releases(); round++ {
				squares += w.Clip(round) * w.Clip(round)
			}
			whole := w.Multiplier(1) * w.Multiplier(1)
			if last := w.Clip(w.Releases()); w.Releases() != w.Rounds+1 || math.Abs(squares/whole-1) > 1e-12 || math.Abs(last*last/whole-.2) > 1e-12 {
				t.Fatalf("%d rounds cost %g of the budget together, and the last %g", w.Releases(), squares/whole, last*last/whole)
			}
			n := w.records.Len()
			w.heldOut = lot(n, 1)
			var queries []*scoring.Query
			w.watch = func(q *scoring.Query) { queries = append(queries, q) }
			final := w.play(t, 3, 1)
			const few = 24
			vectors := func(q *scoring.Query, rows []int, out []bool) [][]float64 {
				records, err := w.Open(w.records.Select(rows))
				check(t, err)
				if out != nil {
					records = scoring.HoldOut(records, out)
				}
				return vectorsOf(q, records)
			}
			rows := make([]int, few)
			for i := range rows {
				rows[i] = i
			}
			logs := w.densities(t, final, w.records.Select(rows))
			for _, q := range []*scoring.Query{queries[0], queries[w.Rounds-1], queries[w.Rounds]} {
				out, round := w.heldOut[:few], q.Round()
				all, everything := vectors(q, rows, out), vectors(q, rows, nil)
				for i, v := range all {
					want := everything[i]
					switch last := round == w.Releases(); {
					case last && out[i]:
						want = scoreVector(logs[i], w.model.Study.Compare.Low, w.model.Study.Compare.High)
						floats.Scale(w.Clip(round), want)
					case last || out[i]:
						want = make([]float64, len(v))
					}
					if !floats.EqualApprox(v, want, 1e-9) {
						t.Fatalf("round %d, record %d, held out %t: %v, want %v", round, i, out[i], v, want)
					}
					if length := floats.Norm(v, 2); length > w.Clip(round)*(1+1e-9) {
						t.Errorf("round %d, record %d: norm %g, clip %g", round, i, length, w.Clip(round))
					}
					without := vectors(q, slices.Delete(slices.Clone(rows), i, i+1), slices.Delete(slices.Clone(out), i, i+1))
					if !slices.EqualFunc(without, slices.Delete(slices.Clone(all), i, i+1), slices.Equal) {
						t.Fatalf("round %d: without record %d, vectors of other records change", round, i)
					}
				}
			}
		})
	}
}

// scoreVector returns the vector that the documentation of [describe.Scores] defines.
func scoreVector(log, low, high float64) []float64 {
	v := min(max(2*(log-low)/(high-low)-1, -1), 1)
	out := []float64{math.Sqrt(.3), math.Sqrt(.5) * v, math.Sqrt(.1) * (2*v*v - 1), 0, 0}
	if log < low {
		out[3] = math.Sqrt(.1)
	}
	if log > high {
		out[4] = math.Sqrt(.1)
	}
	return out
}

// A held-out record whose density cannot be computed adds zero. The vectors of other records do not
// change.
func TestHeldOutThatIsNotFinite(t *testing.T) {
	s := programs["linear"].comparing("clip = [-6, 3]")
	w := s.world(t, 200, 3, 1)
	w.heldOut = lot(200, 1)
	var last *scoring.Query
	w.watch = func(q *scoring.Query) { last = q }
	w.play(t, 3, 1)
	hostile := s.hostile(t, w.model.Study, rand.New(rand.NewPCG(5, 5)), 60)
	vectors := func(records *shard.Shard) [][]float64 {
		open, err := w.Open(records)
		check(t, err)
		return vectorsOf(last, scoring.HoldOut(open, slices.Repeat([]bool{true}, records.Len())))
	}
	zeros := 0
	for i, v := range vectors(hostile) {
		x, _ := hostile.Record(i)
		length := floats.Norm(v, 2)
		if !(length <= w.Clip(last.Round())*(1+1e-9)) || (length == 0) != slices.ContainsFunc(x, math.IsNaN) {
			t.Errorf("record %d, %v: %v", i, x, v)
		}
		if length == 0 {
			zeros++
		}
		if alone := vectors(hostile.Select([]int{i}))[0]; !slices.Equal(alone, v) {
			t.Errorf("record %d: %v alone, %v beside others", i, alone, v)
		}
	}
	if zeros < 5 {
		t.Errorf("only %d records have a number that is not known", zeros)
	}
}

// The vector of a held-out record has the same bits whether it is computed alone or with others, in
// any order and in several batches.
func TestHeldOutInOtherOrder(t *testing.T) {
	softmax := families["softmax"]
	softmax.n = 600
	for name, w := range map[string]*world{
		"program": programs["ordered"].comparing("clip = [-9, 0]").world(t, 600, 3, 1),
		"groups":  grouped["groups, learned"].comparing("").world(t, 3, 1),
		"softmax": softmax.comparing("").world(t, 3, 1),
	} {
		t.Run(name, func(t *testing.T) {
			n := w.records.Len()
			w.heldOut = lot(n, 1)
			var last *scoring.Query
			w.watch = func(q *scoring.Query) { last = q }
			w.play(t, 3, 1)
			vectors := func(rows []int) [][]float64 {
				open, err := w.Open(w.records.Select(rows))
				check(t, err)
				return vectorsOf(last, scoring.HoldOut(open, slices.Repeat([]bool{true}, len(rows))))
			}
			some := rand.New(rand.NewPCG(6, 6)).Perm(n)[:n*3/4]
			beside := vectors(some)
			slices.Sort(some[:n/2])
			for i, v := range vectors(some[:n/2]) {
				if alone := vectors(some[i : i+1])[0]; !slices.Equal(alone, v) {
					t.Fatalf("record %d: %v alone, %v beside others", some[i], alone, v)
				}
			}
			again := vectors(some)
			slices.SortFunc(beside, slices.Compare)
			slices.SortFunc(again, slices.Compare)
			if !slices.EqualFunc(beside, again, slices.Equal) {
				t.Error("vectors change with the order of the records")
			}
		})
	}
}

// About 95 % of the 95 % intervals contain the exact value. The standard errors of the mean log
// density are also right for a different sample of records.
func TestHeldOutIntervalsHold(t *testing.T) {
	seeds := 3
	if os.Getenv("FEDPVI_LONG") != "" {
		seeds = 40
	}
	held, of, errors, studies := 0, 0, 0., 0
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, n := range []int{1000, 4000} {
			for range seeds {
				s, seed := families[name], uint64(10_001+studies) // each study has its own noise
				s.n = n
				w := s.comparing("held_out = 0.2").world(t, 2, seed)
				w.heldOut = make([]bool, n)
				r := rand.New(rand.NewPCG(seed, 13))
				for i := range w.heldOut {
					w.heldOut[i] = r.Float64() < .2
				}
				state := w.play(t, 2, seed)
				c, got := w.model.Study.Compare, state.Scored()
				clipped := func(records *shard.Shard) (sum, below float64) {
					for _, log := range w.densities(t, state, records) {
						if sum += min(max(log, c.Low), c.High); log < c.Low {
							below++
						}
					}
					return sum, below
				}
				rows := rowsOf(w.heldOut, true)
				sum, below := clipped(w.records.Select(rows))
				count := float64(len(rows))
				for _, one := range []struct {
					of    describe.Value
					truth float64
				}{{got.Records, count}, {got.ELPD, sum}, {got.Mean, sum / count}, {got.Below, below / count}} {
					if of++; one.of.Low <= one.truth && one.truth <= one.of.High {
						held++
					}
				}
				s.n = 20_000
				others := s.worldAt(t, 2, 20_000+seed, func(truth []float64) { copy(truth, w.truth) })
				expected, _ := clipped(others.records)
				z := (got.Mean.Estimate - expected/20_000) / got.MeanSE
				errors, studies = errors+z*z, studies+1
				t.Logf("%s, %d: elpd per record %.3f ± %.3f, exact %.3f, of others %.3f, %.2f below the range", name, n, got.Mean.Estimate, got.MeanSE, sum/count, expected/20_000, below/count)
			}
		}
	}
	share, rms := float64(held)/float64(of), math.Sqrt(errors/float64(studies))
	t.Logf("95 %% intervals hold %.3f of %d numbers in %d studies; the rms error of an elpd per record is %.2f standard errors", share, of, studies, rms)
	if share < .91 || share > .995 || rms > 1.25 || rms < .75 {
		t.Errorf("95 %% intervals hold %.3f of %d numbers, and the rms error is %.2f standard errors", share, of, rms)
	}
}
