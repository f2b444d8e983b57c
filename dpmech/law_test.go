package dpmech_test

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/geometric"
)

// laws lists all families of noise, and one more that only tests use.
var laws = append(dpmech.Families[:len(dpmech.Families):len(dpmech.Families)], geometric.Family)

// The test checks each family of noise. Its laws are narrow, so that all probabilities can be
// listed.
func TestLaws(t *testing.T) {
	long(t)
	for _, family := range laws {
		for _, sd := range []int64{1, 2, 3, 10, 40, 100, 10_000} {
			l, err := family.New(sd, float64(sd))
			check(t, err)
			for name, err := range map[string]error{
				"mass":    checkMass(l, float64(sd)),
				"sampler": checkSampler(l, seeded.Stream(1, "frequencies", uint64(sd)), 400_000),
				"cost":    checkCost(l),
			} {
				if err != nil {
					t.Errorf("%s, sd %d, %s: %v", family.Name, sd, name, err)
				}
			}
		}
	}
}

// The checks must find the faults that are planted in each family.
func TestFaultsOfLaws(t *testing.T) {
	for _, family := range laws {
		l, err := family.New(10, 10)
		check(t, err)
		for _, divisor := range []int64{2, 4} {
			if err := checkSampler(faulty{l, divisor, 1}, seeded.Stream(2, "faults"), 10_000); err == nil {
				t.Errorf("%s: noise divided by %d is not found", family.Name, divisor)
			}
		}
		for _, part := range []float64{0, .5} {
			if err := checkCost(faulty{l, 1, part}); err == nil {
				t.Errorf("%s: a cost for %g of the sensitivity is not found", family.Name, part)
			}
		}
		if checkMass(l, 12) == nil || checkMass(faulty{l, 2, 1}, 10) == nil {
			t.Errorf("%s: a wrong mass is not found", family.Name)
		}
	}
}

// faulty is a law with planted faults that the checks in this file must find. Its samples are
// divided by divisor: if divisor is above 1, they are too small. Its cost is computed for part
// times the sensitivity: if part is below 1, it is too low.
type faulty struct {
	dpmech.Law
	divisor int64
	part    float64
}

func (f faulty) Fill(dst []int64, src *dpmech.Stream) {
	f.Law.Fill(dst, src)
	for i := range dst {
		dst[i] /= f.divisor
	}
}

func (f faulty) Mass(k int64) float64 { return f.Law.Mass(k * f.divisor) }

func (f faulty) Event(sensitivity float64, shares, dim int, a accountant.Adjacency) accountant.Event {
	return f.Law.Event(math.Trunc(f.part*sensitivity), shares, dim, a)
}

// listed returns the probabilities of the integers from −reach to reach under a law. reach is so
// large that all other integers together have a probability below 10⁻¹⁵.
func listed(l dpmech.Law) (p []float64, reach int64) {
	for reach = 1; reach < l.Bound() && float64(reach)*(l.Mass(reach)+l.Mass(-reach)) > 1e-18; reach++ {
	}
	for k := -reach; k <= reach; k++ {
		p = append(p, l.Mass(k))
	}
	return p, reach
}

// checkMass checks that a law's probabilities add up to 1, and that its standard deviation is at
// least sd. It allows a difference of one part in 10⁷, because this is how much smaller than σ the
// standard deviation of the discrete Gaussian is for σ = 1.
func checkMass(l dpmech.Law, sd float64) error {
	var sum, squares float64
	p, reach := listed(l)
	for i, x := range p {
		k := float64(int64(i) - reach)
		sum += x
		squares += x * k * k
	}
	if math.Abs(sum-1) > 1e-12 {
		return fmt.Errorf("the probabilities have the sum %.15g", sum)
	}
	if got := math.Sqrt(squares); !(got >= sd*(1-1.1e-7)) {
		return fmt.Errorf("the standard deviation is %g", got)
	}
	return nil
}

// checkSampler draws samples and compares their frequencies with the law's probabilities in a χ²
// test. The rarest values are too rare for this test, so the samples in the tails are counted
// separately.
func checkSampler(l dpmech.Law, src *dpmech.Stream, draws int) error {
	expected, reach := listed(l)
	observed := make([]float64, len(expected))
	samples := make([]int64, draws)
	l.Fill(samples, src)
	for _, k := range samples {
		if k = min(max(k, -reach), reach); k < -l.Bound() || k > l.Bound() {
			return fmt.Errorf("the sample %d is beyond the bound %d", k, l.Bound())
		}
		observed[k+reach]++
	}
	for i := range expected {
		expected[i] *= float64(draws)
	}
	if p := chiSquare(observed, expected); p < rejectBelow {
		return fmt.Errorf("χ² rejects the sampler, p = %.2g", p)
	}
	var tail, seen float64
	for i := 0; tail < 30; i++ {
		last := len(expected) - 1 - i
		tail, seen = tail+expected[i]+expected[last], seen+observed[i]+observed[last]
	}
	// The limit is 4.5 standard errors of a Poisson count.
	if off := math.Abs(seen-tail) / math.Sqrt(tail); off > 4.5 {
		return fmt.Errorf("%g samples in the tails, want %.1f", seen, tail)
	}
	return nil
}

// checkCost checks that the accountant's δ(ε) for noise with this law is at least the exact δ(ε).
// That is the hockey-stick divergence between the noise and the noise shifted by the sensitivity.
func checkCost(l dpmech.Law) error {
	p, reach := listed(l)
	if reach > 10_000 {
		return nil // adding up the noise of several shares would take too long; the audit tests wide laws
	}
	one := p
	for shares := 1; shares <= 3; shares++ {
		if shares > 1 {
			p = convolved(p, one)
		}
		for _, shift := range []int{1, 2, 5} {
			profile, err := accountant.Account(l.Event(float64(shift), shares, 1, accountant.AddRemove))
			if err != nil {
				return err
			}
			for _, epsilon := range []float64{0, .25, 1, 2} {
				claimed, err := profile.Delta(epsilon)
				if err != nil {
					return err
				}
				if exact := hockeyStick(p, shift, epsilon); claimed.Upper < exact*(1-1e-9)-1e-14 {
					return fmt.Errorf("%d shares, shift %d: δ(%g) = %.6g is accounted, it is %.6g", shares, shift, epsilon, claimed.Upper, exact)
				}
			}
		}
	}
	return nil
}

func convolved(p, q []float64) []float64 {
	sum := make([]float64, len(p)+len(q)-1)
	for i, x := range p {
		for j, y := range q {
			sum[i+j] += x * y
		}
	}
	return sum
}

// hockeyStick returns the hockey-stick divergence δ(ε) between the distribution p and a copy of it
// that is shifted by shift integers. It depends on which of the two comes first, and hockeyStick
// returns the larger value.
func hockeyStick(p []float64, shift int, epsilon float64) float64 {
	at := func(i int) float64 {
		if i < 0 || i >= len(p) {
			return 0
		}
		return p[i]
	}
	var up, down float64
	for i := -shift; i < len(p)+shift; i++ {
		up += max(0, at(i)-math.Exp(epsilon)*at(i-shift))
		down += max(0, at(i)-math.Exp(epsilon)*at(i+shift))
	}
	return max(up, down)
}
