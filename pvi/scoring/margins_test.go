package scoring

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The expected mean and variance agree with averages over random means and variances, weighted by
// the likelihoods of a released mean and mean square.
func TestJoint(t *testing.T) {
	const draws, least = 400_000, 1e-4
	r := rand.New(rand.NewPCG(3, 1))
	for _, c := range []struct{ mean, square, sd float64 }{
		{.2, .05, .02}, {.2, .05, .1}, {.3, .0, .1}, {-.1, .3, .05}, {0, .1, .3},
	} {
		var mean, square belief
		mean.learn(0, meanSD*meanSD)
		mean.learn(c.mean, c.sd*c.sd)
		square.learn(c.square, c.sd*c.sd)
		var b joint
		b.set(mean, square, least)
		gotMean, gotVariance := b.expected()

		var total, wantMean, wantVariance float64
		for range draws {
			m := mean.linear/mean.precision + r.NormFloat64()/math.Sqrt(mean.precision)
			v := math.Exp(math.Log(least) * r.Float64())
			gap := (m*m + v - c.square) / c.sd
			w := math.Exp(-gap * gap / 2)
			total += w
			wantMean += w * m
			wantVariance += w * v
		}
		wantMean, wantVariance = wantMean/total, wantVariance/total
		if math.Abs(gotMean-wantMean) > .01*math.Abs(wantMean)+.002 || math.Abs(gotVariance-wantVariance) > .05*wantVariance {
			t.Errorf("mean %v, square %v, sd %v: got %v and %v, want %v and %v", c.mean, c.square, c.sd, gotMean, gotVariance, wantMean, wantVariance)
		}
		var drawnMean, drawnVariance float64
		const many = 20_000
		for range many {
			m, v := b.drawn(r.Float64(), r.Float64())
			drawnMean += m / many
			drawnVariance += v / many
		}
		if math.Abs(drawnMean-gotMean) > .01 || math.Abs(drawnVariance-gotVariance) > .05*gotVariance {
			t.Errorf("mean %v, square %v, sd %v: draws have the means %v and %v, not %v and %v", c.mean, c.square, c.sd, drawnMean, drawnVariance, gotMean, gotVariance)
		}
	}
}
