package audit

import (
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/internal/testing/geometric"
)

// The checks must accept correct noise even if it is not Gaussian, and detect noise that is too
// small and a cost that is too low.
func TestOtherNoise(t *testing.T) {
	for _, c := range []struct {
		name    string
		divisor int64
		charged float64 // factor by which the accounted sensitivity is multiplied
		finding string
	}{
		{"as it is", 1, 1, ""},
		{"half the noise", 2, 1, "size of noise"},
		{"a quarter of the noise", 4, 1, "size of noise"},
		{"twice the sensitivity", 1, .5, "accounting"},
		{"uncharged", 1, 0, "accounting"},
	} {
		family := geometric.Family
		family.New = func(sd int64, sensitivity float64) (dpmech.Law, error) {
			law, err := geometric.Family.New(sd, sensitivity)
			return spoilt{law, c.divisor, c.charged}, err
		}
		found := append(failures(t, task{seed: 1, runs: 100, alpha: 1e-8}, noisy(family).questions()...), ": ")
		if by, _, _ := strings.Cut(found[0], ": "); by != c.finding {
			t.Errorf("%s: found by %q, want %q", c.name, by, c.finding)
		}
	}
}

// spoilt divides the noise of a law by divisor, and multiplies the accounted sensitivity by
// charged.
type spoilt struct {
	dpmech.Law
	divisor int64
	charged float64
}

func (s spoilt) Fill(dst []int64, src *dpmech.Stream) {
	s.Law.Fill(dst, src)
	for i := range dst {
		dst[i] /= s.divisor
	}
}

func (s spoilt) Event(sensitivity float64, shares, dim int, a accountant.Adjacency) accountant.Event {
	return s.Law.Event(s.charged*sensitivity, shares, dim, a)
}
