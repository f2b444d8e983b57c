package extend_test

import (
	"math"
	"os/exec"
	"testing"
	"time"

	"fedpvi/sim"
	"fedpvi/sim/subprocess"
)

func init() {
	sim.RegisterSolver("python", subprocess.Command{Args: []string{"python3", "solver.py"}, Timeout: time.Minute}.New)
}

// The Python program computes exact factors, so the rounds end at the posterior of the pooled
// records.
func TestSolverInPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	r, err := posterior(`solver = "own:python"`)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(*r.KL) < 1e-3) {
		t.Errorf("the posterior is %g nats from that of the pooled records", *r.KL)
	}
}
