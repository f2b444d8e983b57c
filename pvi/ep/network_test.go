package ep

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/internal/special"
)

// network computes the output η of a network from the definition.
func network(hidden int, x, theta []float64) float64 {
	d := len(x)
	eta := theta[hidden*(d+2)]
	for h := range hidden {
		in := theta[hidden*d+h]
		for j, value := range x {
			in += theta[h*d+j] * value
		}
		eta += theta[hidden*(d+1)+h] * math.Tanh(in)
	}
	return eta
}

// outcomeOf returns log p(y|η) for a binary or normal outcome. The last coordinate of theta is the
// log sd of normal noise.
func outcomeOf(binary bool, y, eta float64, theta []float64) float64 {
	if binary {
		return -special.Softplus((1 - 2*y) * eta)
	}
	u := theta[len(theta)-1]
	z := (y - eta) * math.Exp(-u)
	return -z*z/2 - u
}

// Under a narrow cavity, the precisions times means in a site form the gradient of the record's log
// likelihood, for any power.
func TestNetworkSitesAreGradients(t *testing.T) {
	const hidden, inputs = 3, 2
	r := rand.New(rand.NewPCG(5, 6))
	for _, binary := range []bool{true, false} {
		for _, power := range []float64{1, 0.3} {
			d := hidden*(inputs+2) + 1
			if !binary {
				d++
			}
			mean, sd := make([]float64, d), make([]float64, d)
			for i := range mean {
				mean[i], sd[i] = r.NormFloat64(), 1e-4
			}
			q := independent(t, mean, sd)
			for range 10 {
				x, y := []float64{r.NormFloat64(), r.NormFloat64()}, r.NormFloat64()
				if binary {
					y = float64(r.IntN(2))
				}
				site := siteUnder(q, NewNetwork(hidden, x, []float64{y}, inputs, binary, power, 1))
				for i := range d {
					want := slopeOf(mean, i, func(theta []float64) float64 { return outcomeOf(binary, y, network(hidden, x, theta), theta) })
					if math.Abs(site[i]-want) > 1e-4*(1+math.Abs(want)) {
						t.Fatalf("binary %t, power %g: slope %d is %.7g, by differences %.7g", binary, power, i, site[i], want)
					}
				}
			}
		}
	}
}

// The cavity times a site has the moments of the tilted distribution, from numerical integration
// over all coordinates. The error, because η is not normal, grows with the sds of the cavity.
func TestNetworkSitesMatchMoments(t *testing.T) {
	for _, c := range []struct {
		binary     bool
		y, sd, off float64
	}{{true, 1, 0.1, 1e-4}, {true, 0, 0.5, 6e-3}, {false, 1.4, 0.1, 2e-3}, {false, 1.4, 0.5, 9e-2}} {
		mean := []float64{0.8, -0.4, 1.3, 0.2}
		sd := []float64{c.sd, 0.8 * c.sd, c.sd, 0.6 * c.sd}
		if !c.binary {
			mean, sd = append(mean, -0.5), append(sd, 0.7*c.sd)
		}
		q := independent(t, mean, sd)
		x := []float64{1.2}
		got, spread := matchedBy(q, NewNetwork(1, x, []float64{c.y}, 1, c.binary, 1, 0.5))
		first, second := tiltedByBruteForce(q, 16, func(theta []float64) float64 {
			return outcomeOf(c.binary, c.y, network(1, x, theta), theta)
		})
		for i := range got {
			if miss := math.Abs(got[i]-first[i]) / sd[i]; miss > c.off || math.Abs(spread[i]/second[i]-1) > 2*c.off {
				t.Errorf("binary %t, sd %g, coordinate %d: N(%.6g, %.6g), by brute force N(%.6g, %.6g)", c.binary, c.sd, i, got[i], spread[i], first[i], second[i])
			}
		}
	}
}

// The moments of tanh z agree with a fine quadrature rule, and their derivatives with finite
// differences, for small and large sds of z.
func TestMomentsOfHiddenUnits(t *testing.T) {
	u := newHiddenUnit()
	moment := func(mean, sd, power float64) float64 {
		return along(-9, 9, func(z float64) float64 {
			return math.Pow(math.Tanh(mean+sd*z), power) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		})
	}
	for _, mean := range []float64{-2.3, 0, 0.4, 6} {
		for _, sd := range []float64{0, 0.2, 1, 3, 5} {
			u.run(mean, sd*sd)
			for power, got := range []unitMoment{u.first, u.second} {
				p := float64(power + 1)
				if want := moment(mean, sd, p); math.Abs(got.value-want) > 2e-4 {
					t.Errorf("N(%g, %g²): moment %g is %.7g, want %.7g", mean, sd, p, got.value, want)
				}
				const h = 1e-3
				want := (moment(mean+h, sd, p) - moment(mean-h, sd, p)) / (2 * h)
				if math.Abs(got.inMean-want) > 1e-3 {
					t.Errorf("N(%g, %g²): slope of moment %g in the mean is %.7g, want %.7g", mean, sd, p, got.inMean, want)
				}
				if sd == 0 {
					continue
				}
				v := sd * sd
				want = (moment(mean, math.Sqrt(v+h*v), p) - moment(mean, math.Sqrt(v-h*v), p)) / (2 * h * v)
				if math.Abs(got.inVariance-want) > 1e-3 {
					t.Errorf("N(%g, %g²): slope of moment %g in the variance is %.7g, want %.7g", mean, sd, p, got.inVariance, want)
				}
			}
		}
	}
}

// Set, Site and Expand of mixtures and networks allocate no memory.
func TestMatchesAllocateNothing(t *testing.T) {
	x, y := []float64{0.3, -0.8}, []float64{1}
	for name, tilted := range map[string]Tilted{
		"clusters":         NewClusters(3, 2, x, 1.5, 1, 1),
		"network":          NewNetwork(3, x, y, 2, true, 1, 1),
		"measured network": NewNetwork(3, x, y, 2, false, 0.5, 1),
	} {
		d := tilted.Family().Dim()
		sd := make([]float64, d)
		for i := range sd {
			sd[i] = 0.5
		}
		q, site, sum := independent(t, make([]float64, d), sd), make([]float64, tilted.Size()), make([]float64, 2*d)
		tilted.Set(q)
		n := testing.AllocsPerRun(20, func() {
			tilted.Set(q)
			tilted.Site(site, 0)
			tilted.Expand(sum, site)
		})
		if n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}
