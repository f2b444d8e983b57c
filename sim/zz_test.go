package sim

import (
	"context"
	"fmt"
	"testing"

	"fedpvi/pvi/study"
)

func TestZZ(t *testing.T) {
	st := regression(t, "robust", 60, 4, "label-skew")
	st.Inference.Factors, st.Inference.Q = study.Exact, "full"
	play, err := NewPlay(st, Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	_, err = play.Run(context.Background(), func(s Status) error {
		m, c, _ := play.Federation.Protocol.Family().Moments(play.Federation.Server.Posterior())
		fmt.Printf("%d %v change %.3g mean %.3f sd %.3f\n", s.Outcomes, s.Outcome.Verdict, s.Change, m, []float64{c.At(0, 0), c.At(1, 1), c.At(2, 2), c.At(3, 3)})
		return nil
	})
	m, c, _ := play.Reference.Moments()
	fmt.Println(m, c.At(0, 0), c.At(1, 1), c.At(2, 2), c.At(3, 3))
	st = regression(t, "poisson", 60, 4, "label-skew")
	st.Inference.Factors, st.Inference.Q = study.Exact, "diagonal"
	_, err = NewPlay(st, Options{Seed: 3})
	fmt.Println(err)
}
