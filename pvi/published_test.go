package pvi

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"fedpvi/pvi/method/change"
	"fedpvi/pvi/shard"
)

// sumCovariance returns the covariance Σ of the opened sums over all rounds for clip C = 1
// (soundness.md, section 1). Up to a constant, sum t is e_t = N_t − Σ_{k≠v} λ_k, where N_t is
// the round's noise and λ_k are the factors of the clients other than the observed client v.
func sumCovariance(clients, rounds int, sigma float64, damping func(int) float64) *mat.SymDense {
	own := sigma * sigma / float64(clients)
	others := sigma*sigma - own
	// Element (t, j) of a is the weight, in the sum of round t, of the noise that the other
	// clients added in round j.
	a := mat.NewDense(rounds, rounds, nil)
	held := make([]float64, rounds) // weight of each round's noise in the factors of the other clients
	for t := range rounds {
		for j, w := range held {
			a.Set(t, j, -w)
		}
		a.Set(t, t, 1)
		alpha := damping(t + 1)
		for j := range held {
			held[j] *= 1 - alpha
		}
		held[t] += alpha
	}
	covariance := mat.NewSymDense(rounds, nil)
	covariance.SymOuterK(others, a)
	for t := range rounds {
		covariance.SetSym(t, t, covariance.At(t, t)+own)
	}
	return covariance
}

func weights(covariance *mat.SymDense) []float64 {
	n := covariance.SymmetricDim()
	var chol mat.Cholesky
	if !chol.Factorize(covariance) {
		panic("not positive definite")
	}
	ones := mat.NewVecDense(n, nil)
	for t := range n {
		ones.SetVec(t, 1)
	}
	var w mat.VecDense
	if err := chol.SolveVecTo(&w, ones); err != nil {
		panic(err)
	}
	return w.RawVector().Data
}

func denseMu(clients, rounds int, sigma float64, damping func(int) float64) float64 {
	return math.Sqrt(floats.Sum(weights(sumCovariance(clients, rounds, sigma, damping))))
}

// The opened sums of real servers and sites leak as much information as PublishedMu computes.
// Over many simulated studies, the observer's best weighted sum of the opened sums has an sd of
// 1/μ of the contribution of a client whose changes reach the clip. With exact factors the same
// study gives the claimed μ = √T/σ, for T rounds and noise multiplier σ.
func TestPublishedMuOfTheMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	const clients, rounds, runs = 5, 12, 4000
	constant := func(int) float64 { return .3 }
	for _, c := range []struct {
		factors string
		weights []float64
		want    float64
	}{
		{"published", weights(sumCovariance(clients, rounds, .05, constant)), change.PublishedMu(clients, rounds, .05, constant)},
		{"exact", slices.Repeat([]float64{1}, rounds), math.Sqrt(rounds) / .05},
	} {
		st := planeStudy(t, clientPrivacy+"\ncoordinates = \"raw\"", fmt.Sprintf("factors = %q\ndamping = 0.3", c.factors), "")
		st.Inference.Rounds = rounds
		h := newHouse(t, st, clients, 1)
		h.shards[0] = shard.Design(st, planeRecords(1, 0, 1000)) // so many records that the change is clipped
		var direction []float64
		var statistics []float64
		for run := range runs {
			h.seed, h.server = uint64(run), NewServer(h.protocol)
			for m, s := range h.sites {
				h.sites[m] = h.newSite(s.ID(), m)
			}
			if direction == nil {
				direction = saturatedDirection(h)
			}
			var statistic float64
			for !h.server.Done() {
				plan, _ := h.server.Next()
				var o *Outcome
				for m := range h.sites {
					var err error
					if o, err = h.server.Collect(h.propose(m, &plan)); err != nil {
						t.Fatal(err)
					}
				}
				h.settle(o)
				for i, n := range o.Sum {
					statistic += c.weights[o.Number-1] * direction[i] * h.protocol.messages.Lattice.Float(n)
				}
			}
			statistics = append(statistics, statistic)
		}
		_, sd := stat.MeanStdDev(statistics, nil)
		got := mechanismOf(h.protocol).Clip() * floats.Sum(c.weights) / sd
		if se := c.want / math.Sqrt(2*runs); math.Abs(got-c.want) > 5*se {
			t.Errorf("%s factors: μ = %.4g measured on the machines, want %.4g ± %.2g", c.factors, got, c.want, se)
		}
	}
}

// saturatedDirection returns the direction of client 0's factor, whose norm is far above the
// clip.
func saturatedDirection(h *house) []float64 {
	u := make([]float64, h.protocol.family.Size())
	for i := range h.shards[0].Len() {
		x, y := h.shards[0].Record(i)
		h.protocol.model.Linear().AddStatistics(u, x, y)
	}
	floats.Scale(1/floats.Norm(u, 2), u)
	return u
}

func TestPublishedMu(t *testing.T) {
	constant := func(alpha float64) func(int) float64 { return func(int) float64 { return alpha } }
	tests := []struct {
		clients, rounds int
		alpha           float64
		// Expected μ, from section 7.1 of the security notes and section 1 of the soundness
		// notes.
		want float64
	}{
		{20, 50, .1, 4.06},
		{20, 100, .1, 7.24},
		{100, 100, .1, 10.89},
		{5, 100, .1, 4.18},
		{20, 100, .01, 2.95},
	}
	for _, c := range tests {
		got := change.PublishedMu(c.clients, c.rounds, 5, constant(c.alpha))
		if dense := denseMu(c.clients, c.rounds, 5, constant(c.alpha)); math.Abs(got-dense) > 1e-9*dense {
			t.Errorf("M = %d, T = %d, α = %g: μ = %g by filter, %g by the whole covariance", c.clients, c.rounds, c.alpha, got, dense)
		}
		if math.Abs(got-c.want) > .005 {
			t.Errorf("M = %d, T = %d, α = %g: μ = %.4f, want %.2f", c.clients, c.rounds, c.alpha, got, c.want)
		}
	}
	harmonic := func(t int) float64 { return 1 / float64(t) }
	if got, want := change.PublishedMu(20, 30, 2, harmonic), denseMu(20, 30, 2, harmonic); math.Abs(got-want) > 1e-9*want {
		t.Errorf("harmonic damping: μ = %g by filter, %g by the whole covariance", got, want)
	}
}
