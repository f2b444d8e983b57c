package autoencoder

import (
	"math"
	"testing"
)

// The test checks that, for any expected size, fewer than one in 10^9 batches contain more records
// than together returns. It uses the Poisson distribution, whose upper tail is heavier than that of
// the binomial distribution.
func TestFewBatchesAreLarger(t *testing.T) {
	for batch := 1; batch <= 3600; batch++ {
		s := &Spec{Batch: batch}
		mean, tail := float64(batch), 0.
		for k := float64(s.together() + 1); k < 5000; k++ {
			gamma, _ := math.Lgamma(k + 1)
			tail += math.Exp(k*math.Log(mean) - mean - gamma)
		}
		if tail > 1e-9 {
			t.Errorf("batches of %d: %g are larger than %d", batch, tail, s.together())
		}
	}
}
