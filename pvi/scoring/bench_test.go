package scoring_test

import "testing"

// BenchmarkPlay measures all rounds of a study with 4,000 records and 103 coefficients.
func BenchmarkPlay(b *testing.B) {
	s := logistic
	s.d, s.n = 100, 4000
	for b.Loop() {
		w := s.world(b, 3.73, 1)
		w.play(b, 3.73, 1)
	}
}
