package scoring_test

import "testing"

// BenchmarkPlay measures a whole simulated study with 4,000 records and 103 coefficients: all
// rounds, with the work of server and clients.
func BenchmarkPlay(b *testing.B) {
	s := logistic
	s.d, s.n = 100, 4000
	for b.Loop() {
		w := s.world(b, 3.73, 1)
		w.play(b, 3.73, 1)
	}
}
