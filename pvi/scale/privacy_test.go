package scale

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/scalestudy"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"pgregory.net/rapid"
)

// Two sites with the same noise differ in one record, or in all records of the client. In every
// pass their sums differ by at most the clip C, or by 2C if something is replaced.
func TestScaleSensitivity(t *testing.T) {
	units := map[string]*study.Study{
		"record": scalestudy.Parse(t, scalestudy.Record, "rounds = 3", ""),
		"client": scalestudy.Parse(t, scalestudy.Client, "rounds = 3", ""),
	}
	value := rapid.OneOf(rapid.Float64Range(-100, 100), rapid.SampledFrom([]float64{-100, 100, 0, 1e-300, math.NaN(), math.Inf(1), -1e308}))
	for unit, st := range units {
		t.Run(unit, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				row := rapid.Custom(func(rt *rapid.T) []float64 {
					return []float64{value.Draw(rt, "x"), 1, value.Draw(rt, "y")}
				})
				with, without := new(shard.Records), new(shard.Records)
				records := rapid.SliceOfN(row, 1, 6).Draw(rt, "records")
				for i, r := range records {
					with.Append(r)
					if unit == "record" && i < len(records)-1 {
						without.Append(r) // without has all records but the last
					}
				}
				replaced := rapid.SampledFrom([]bool{false, true}).Draw(rt, "replaced") || unit == "client"
				if replaced {
					without.Append(row.Draw(rt, "other"))
				}
				h := newScaleHouse(t, st, 1, with, without)
				for !h.server.Done() {
					plan, _ := h.server.Next()
					step := h.scaling.step(plan.Number)
					releases, outcome := h.answers(&plan, func(int) *dpmech.Stream { return seeded.Stream(7, "same", uint64(plan.Number)) })
					// the mechanism's clip in lattice steps, rounded as in the accounting
					bound, _ := big.NewFloat(step.mechanism.Clip() / step.lattice.Step()).Int(nil)
					if replaced {
						bound.Lsh(bound, 1)
					}
					norm := new(big.Int)
					for i, n := range releases[0].Sum {
						d := big.NewInt(n - releases[1].Sum[i])
						norm.Add(norm, d.Mul(d, d))
					}
					if norm.Cmp(new(big.Int).Mul(bound, bound)) > 0 {
						rt.Fatalf("pass %d: neighbouring records move the sum by %v², more than %v", plan.Number, norm, bound)
					}
					h.settle(outcome)
				}
			})
		})
	}
}

// No contribution is longer than the clip, so nothing is biased. A record with all values at its
// bounds has the norm of the clip.
func TestScaleNeedsNoClipping(t *testing.T) {
	corner := []float64{100, 1, -100}
	for _, privacy := range []string{scalestudy.Record, scalestudy.Client} {
		st := scalestudy.Parse(t, privacy, "rounds = 1", "")
		some, none := new(shard.Records), new(shard.Records)
		some.Append(corner)
		none.Append([]float64{0, 1, 0})
		h := newScaleHouse(t, st, 1, some, none)
		step := &h.scaling.moments
		for m, want := range [][]float64{{1, -1, 1, 1}, {0, 0, 0, 0}} {
			got := h.sites[m]
			got.row = make([]float64, step.size)
			row := got.contribution(0, step)[h.scaling.first():]
			for k, at := range []int{0, 2, 1, 3} { // positions of x, x², y, y² in the expected order
				if x := row[at]; math.Abs(x-want[k]) > 1e-15 {
					t.Errorf("element %d is %g, want %g", at, x, want[k])
				}
			}
		}
		got := h.sites[0].contribution(0, step)
		var norm float64
		for _, x := range got {
			norm = math.Hypot(norm, x)
		}
		if math.Abs(norm-step.mechanism.Clip()) > 1e-12 {
			t.Errorf("a record at its bounds has norm %g, the clip is %g", norm, step.mechanism.Clip())
		}
	}
}

// A site charges a pass and draws its noise before it reads a record.
func TestScaleNoiseComesFirst(t *testing.T) {
	for _, privacy := range []string{scalestudy.Record, scalestudy.Client} {
		h := newScaleHouse(t, scalestudy.Parse(t, privacy, "", ""), 1, ball(1, 5, 7, 2))
		site := h.sites[0]
		plan, _ := h.server.Next()
		src := seeded.Stream(1, "wiped")
		src.Wipe()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: noise came from a stream without a key", privacy)
				}
			}()
			err := site.Propose(new(Release), &plan, src)
			t.Errorf("%s: released without noise, %v", privacy, err)
		}()
		if len(site.row) == 0 || slices.ContainsFunc(site.row, func(x float64) bool { return x != 0 }) {
			t.Errorf("%s: a record was looked at before the noise was drawn", privacy)
		}
		if site.Passes() != 1 {
			t.Errorf("%s: %d passes were charged, want one", privacy, site.Passes())
		}
	}
}

// In all passes the noise has the charged sd, and is independent between passes and clients.
func TestScaleNoise(t *testing.T) {
	for _, c := range []struct {
		privacy, federation string
		shares              float64
	}{
		{scalestudy.Record, "", 1},
		{scalestudy.Client, "min_clients = 150\ncolluders = 50", 100},
	} {
		st := scalestudy.Parse(t, c.privacy, "budget_share = 0.2", c.federation)
		clients := make([]*shard.Records, 200)
		for m := range clients {
			clients[m] = new(shard.Records)
			clients[m].Append([]float64{0, 1, 0})
		}
		h := newScaleHouse(t, st, 3, clients...)
		mu := accountant.GaussianMu(st.Privacy.Epsilon, st.Privacy.Delta) * math.Sqrt(0.2/3)
		for !h.server.Done() {
			plan, _ := h.server.Next()
			step := h.scaling.step(plan.Number)
			want := step.mechanism.Clip() / mu / math.Sqrt(c.shares) / step.lattice.Step()
			var squares, crossed float64
			var last *Release
			draws := 0
			var outcome *Outcome
			exact := make([]float64, step.size)
			for m := range h.sites {
				r := h.propose(m, &plan)
				h.sites[m].row = make([]float64, step.size)
				copy(exact, h.sites[m].contribution(0, step))
				for i, n := range r.Sum {
					z := (float64(n) - math.Trunc(exact[i]/step.lattice.Step())) / want
					squares += z * z
					draws++
					if last != nil {
						crossed += z * (float64(last.Sum[i]) - math.Trunc(exact[i]/step.lattice.Step())) / want
					}
				}
				last = r
				var err error
				outcome, err = h.server.Collect(r)
				check(t, err)
			}
			h.settle(outcome)
			// The limits are five standard errors of the two statistics.
			if n := float64(draws); math.Abs(squares/n-1) > 5*math.Sqrt(2/n) || math.Abs(crossed/n) > 5/math.Sqrt(n) {
				t.Errorf("%s, pass %d: the noise has %g times the variance that is paid for, and correlation %g between clients", c.privacy, plan.Number, squares/n, crossed/n)
			}
		}
	}
}
