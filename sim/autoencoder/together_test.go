package autoencoder

import (
	"math"
	"testing"
)

// Fewer than one in 10^9 batches may contain more records than together returns. The Poisson
// distribution has a heavier upper tail than the binomial distribution.
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
