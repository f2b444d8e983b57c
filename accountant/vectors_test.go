package accountant

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// readVectors decodes a section of the reference file into dst, which is a pointer to a slice. If
// the file does not exist, it skips the test.
func readVectors(t *testing.T, section string, dst any) {
	t.Helper()
	path := os.Getenv("FEDPVI_VECTORS")
	if path == "" {
		path = filepath.Join("..", "..", "shared", "vectors", "public.json")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no reference values: %v (set FEDPVI_VECTORS to the file)", err)
	}
	var sections map[string]json.RawMessage
	check(t, json.Unmarshal(raw, &sections))
	if err := json.Unmarshal(sections[section], dst); err != nil {
		t.Fatalf("section %s: %v", section, err)
	}
}

// some returns all cases, or only a few with -short. The race detector uses -short, because
// arithmetic without goroutines has no races.
func some[T any](cases []T) []T {
	if !testing.Short() {
		return cases
	}
	var few []T
	for i := 0; i < len(cases); i += 9 {
		few = append(few, cases[i])
	}
	return few
}

func relative(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

// checkNear fails the test if got has a relative error above the tolerance.
func checkNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if r := relative(got, want); !(r <= tolerance) {
		t.Errorf("%s: got %.17g, want %.17g (relative error %.1e)", what, got, want, r)
	}
}

func TestGaussianDeltaVectors(t *testing.T) {
	var cases []struct {
		ID                                 string
		Sigma, Sensitivity, Epsilon, Delta float64
	}
	readVectors(t, "gaussian_delta", &cases)
	for _, c := range cases {
		checkNear(t, c.ID, GaussianDelta(c.Sensitivity/c.Sigma, c.Epsilon), c.Delta, 1e-12)
	}
}

func TestGaussianEpsilonVectors(t *testing.T) {
	var cases []struct {
		ID                    string
		Sigma, Delta, Epsilon float64
	}
	readVectors(t, "gaussian_eps", &cases)
	for _, c := range cases {
		checkNear(t, c.ID, GaussianEpsilon(1/c.Sigma, c.Delta), c.Epsilon, 1e-12)
	}
}

func TestGaussianMuVectors(t *testing.T) {
	var cases []struct {
		ID                                 string
		Epsilon, Delta, Sensitivity, Sigma float64
	}
	readVectors(t, "gaussian_sigma", &cases)
	for _, c := range cases {
		checkNear(t, c.ID, c.Sensitivity/GaussianMu(c.Epsilon, c.Delta), c.Sigma, 1e-12)
	}
}

func TestComposedGaussianVectors(t *testing.T) {
	var cases []struct {
		ID             string
		Sigma          float64
		T              int
		Delta, Epsilon float64
	}
	readVectors(t, "gaussian_composed_small_delta", &cases)
	for _, c := range cases {
		b := epsilonOf(t, Repeated{Gaussian{1, c.Sigma, AddRemove}, c.T}, c.Delta)
		got := b.Upper
		if r := relative(got, c.Epsilon); got < c.Epsilon || r > 1e-9 || b.Lower > c.Epsilon || b.Lower < c.Epsilon*(1-1e-9) {
			t.Errorf("%s: epsilon = %.17g, want at least %.17g and no more than 1e-9 above (%.1e)", c.ID, got, c.Epsilon, r)
		}
	}
}
