package chaos

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"fedpvi/pvi"
)

// A lambda checks the parameters λ that the coordinator publishes. It computes λ − λ_prior in
// integers of any size, with its own code. It takes the damping from the first λ after an accepted
// change, and checks that the damping never changes.
type lambda struct {
	protocol *pvi.Protocol
	sum      []*big.Int // sum of the accepted changes before damping
	alpha    *big.Int   // damping; nil before the first accepted change
}

func newLambda(p *pvi.Protocol) *lambda {
	l := &lambda{protocol: p, sum: make([]*big.Int, p.Family().Size())}
	for i := range l.sum {
		l.sum[i] = new(big.Int)
	}
	return l
}

func (l *lambda) add(change []int64) {
	for i, n := range change {
		l.sum[i].Add(l.sum[i], big.NewInt(n))
	}
}

// is reports whether said, the published λ − λ_prior, is the damping α times the sum of the
// accepted changes. α must be positive. It follows from the first sum that is not zero.
func (l *lambda) is(said []pvi.Wide) bool {
	if len(said) != len(l.sum) {
		return false
	}
	for i, w := range said {
		got := integer(w)
		if l.alpha == nil && l.sum[i].Sign() != 0 {
			l.alpha = new(big.Int).Quo(got, l.sum[i])
			if l.alpha.Sign() <= 0 {
				return false
			}
		}
		want := new(big.Int)
		if l.alpha != nil {
			want.Mul(l.sum[i], l.alpha)
		}
		if got.Cmp(want) != 0 {
			return false
		}
	}
	return true
}

// integer returns the number that w represents in two's complement with 128 bits.
func integer(w pvi.Wide) *big.Int {
	text, err := w.MarshalText()
	n, ok := new(big.Int).SetString(string(text), 16)
	if err != nil || !ok {
		panic("chaos: an element of λ is no hexadecimal number")
	}
	if n.Bit(127) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return n
}

// leadsTo checks the natural parameters of a result. Each of them must be the parameter of the
// prior plus a factor times the sum of the accepted changes. The factor is the same for all
// parameters: the damping times the unit of the changes.
func (l *lambda) leadsTo(result []byte) error {
	var said struct {
		Natural []float64 `json:"natural"`
	}
	if err := json.Unmarshal(result, &said); err != nil {
		return err
	}
	prior := l.protocol.Prior()
	if len(said.Natural) != len(prior) {
		return fmt.Errorf("it has %d numbers, not %d", len(said.Natural), len(prior))
	}
	var unit float64
	for i, n := range said.Natural {
		sum, _ := new(big.Float).SetInt(l.sum[i]).Float64()
		change := n - prior[i]
		slack := 1e-9 * (math.Abs(n) + math.Abs(prior[i]))
		if unit == 0 && sum != 0 && math.Abs(change) > 1e3*slack {
			unit = change / sum
		}
		if math.Abs(change-unit*sum) > slack+1e-6*math.Abs(unit*sum) {
			return fmt.Errorf("element %d is not the prior's element plus the accepted changes", i+1)
		}
	}
	return nil
}
