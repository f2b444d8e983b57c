package audit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// noises holds the noise of many releases, divided by the claimed standard deviation. The indices
// are the run, the release within the run, the sender and the coordinate.
type noises [][][][]float64

// variances tests the claimed variance of the noise. There is a trial for each sender, for each
// coordinate and for each position of a release within its run, and one for the sums over all
// senders.
func (z noises) variances() []trial {
	groups := map[string]*squares{}
	var order []string
	add := func(group string, x float64) {
		g, ok := groups[group]
		if !ok {
			g = new(squares)
			groups[group] = g
			order = append(order, group)
		}
		g.sum += x * x
		g.n++
	}
	for _, run := range z {
		for t, release := range run {
			sums := make([]float64, len(release[0]))
			for m, sender := range release {
				for i, x := range sender {
					sums[i] += x
					add(fmt.Sprintf("sender %d", m+1), x)
					add(fmt.Sprintf("coordinate %d", i+1), x)
					add(fmt.Sprintf("release %d", t+1), x)
				}
			}
			for _, s := range sums {
				add("sums over all senders", s/math.Sqrt(float64(len(release))))
			}
		}
	}
	var trials []trial
	for _, group := range order {
		g := groups[group]
		trials = append(trials, trial{
			varianceP(g.sum, g.n),
			fmt.Sprintf("%s: sd %.4g of the claimed one, in %d draws", group, math.Sqrt(g.sum/float64(g.n)), g.n),
		})
	}
	return trials
}

type squares struct {
	sum float64
	n   int
}

// shapes tests whether the noise of every coordinate is Gaussian.
func (z noises) shapes() []trial {
	const cells = 40
	counts := make([][]float64, len(z[0][0][0]))
	for i := range counts {
		counts[i] = make([]float64, cells)
	}
	for _, run := range z {
		for _, release := range run {
			for _, sender := range release {
				for i, x := range sender {
					counts[i][min(int(cells*distuv.UnitNormal.CDF(x)), cells-1)]++
				}
			}
		}
	}
	var trials []trial
	for i, observed := range counts {
		p := uniformP(observed)
		trials = append(trials, trial{p, fmt.Sprintf("coordinate %d: χ² against a Gaussian, p = %.2g", i+1, p)})
	}
	return trials
}

// correlations tests whether draws of noise are independent. It compares draws of different
// releases, senders and coordinates within a run, at every distance, and draws of runs that are one
// or two apart. It also compares draws that differ in two of these respects, because a faulty
// program might reuse the noise of another sender's release. Within a trial, each draw belongs to
// at most one pair.
func (z noises) correlations() []trial {
	runs, releases, senders, dim := len(z), len(z[0]), len(z[0][0]), len(z[0][0][0])
	var trials []trial
	for _, pair := range pairings(releases, senders, dim) {
		var a, b []float64
		s := pair.step
		inReleases, inSenders, inDim := firsts(releases, s[1]), firsts(senders, s[2]), firsts(dim, s[3])
		for _, k := range firsts(runs, s[0]) {
			for _, t := range inReleases {
				for _, m := range inSenders {
					for _, i := range inDim {
						a = append(a, z[k][t][m][i])
						b = append(b, z[k+s[0]][t+s[1]][m+s[2]][i+s[3]])
					}
				}
			}
		}
		if len(a) < 10 {
			continue
		}
		r := stat.Correlation(a, b, nil)
		if math.IsNaN(r) {
			r = 1 // if one of the two series is constant, count it as fully correlated
		}
		trials = append(trials, trial{
			correlationP(r, len(a)),
			fmt.Sprintf("%s: correlation %+.3f in %d pairs", pair.name, r, len(a)),
		})
	}
	return trials
}

// A pairing defines the pairs of draws whose correlation is tested.
type pairing struct {
	name string
	step [4]int // differences between the two draws' indices in noises: run, release, sender, coordinate
}

func pairings(releases, senders, dim int) []pairing {
	all := []pairing{
		{"consecutive runs", [4]int{1, 0, 0, 0}},
		{"runs two apart", [4]int{2, 0, 0, 0}},
		{"the next release of the next sender", [4]int{0, 1, 1, 0}},
		{"the next release of the sender before", [4]int{0, 1, -1, 0}},
		{"the next coordinate of the next release", [4]int{0, 1, 0, 1}},
		{"the coordinate before of the next release", [4]int{0, 1, 0, -1}},
		{"the next coordinate of the next sender", [4]int{0, 0, 1, 1}},
	}
	for axis, along := range []struct {
		name string
		n    int
	}{{"releases", releases}, {"senders", senders}, {"coordinates", dim}} {
		for apart := 1; apart < along.n; apart++ {
			p := pairing{name: fmt.Sprintf("%s %d apart", along.name, apart)}
			p.step[axis+1] = apart
			all = append(all, p)
		}
	}
	return all
}

// firsts chooses disjoint pairs (i, i+step) of indices in 0..n-1, and returns the first index of
// each pair. If step is 0, it returns all indices.
func firsts(n, step int) (all []int) {
	apart, first := max(step, -step), max(-step, 0)
	for i := range n - apart {
		if apart == 0 || i/apart%2 == 0 {
			all = append(all, i+first)
		}
	}
	return all
}
