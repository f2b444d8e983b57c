package client_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/transport"
)

// Answers leave at a multiple of the study's pace after their plan, however long computing them
// took. The clock of the test moves only when a client computes or waits.
func TestAnswersLeaveAtThePace(t *testing.T) {
	for _, c := range []struct {
		federation string
		computing  time.Duration
		want       time.Duration // time between plan and answer
	}{
		{"pace = 2.5", 0, 2500 * time.Millisecond},
		{"pace = 2.5", time.Millisecond, 2500 * time.Millisecond},
		{"pace = 2.5", 2499 * time.Millisecond, 2500 * time.Millisecond},
		{"pace = 2.5", 2500 * time.Millisecond, 5 * time.Second},
		{"pace = 2.5", 12 * time.Second, 12500 * time.Millisecond},
		{"", 7 * time.Second, 7 * time.Second}, // version 1 has no pace
	} {
		h, all := federation(t, planeStudy(recordPrivacy, "", c.federation), "north")
		p := all[0]
		p.edit("minimum = 2", "minimum = 1")
		check(t, p.approve())
		h.begin()
		var left []time.Duration
		k := p.open()
		k.SeedNoise(func(ask int) *dpmech.Stream {
			p.late += c.computing
			return seeded.Stream(1, "client", p.seed, uint64(ask))
		})
		policy, err := client.LoadPolicy(p.dir)
		check(t, err)
		m, err := k.Member("")
		check(t, err)
		began := p.late
		sent := &pacedLine{line{h, p.name}, func() {
			left = append(left, p.late-began)
			began = p.late // the next plan comes with the answer
		}}
		_, err = k.Run(t.Context(), client.Run{
			Member: m, Policy: policy, Data: p.data,
			Connect: func(context.Context) (client.Link, io.Closer, error) { return sent, sent, nil },
			Wait: func(_ context.Context, d time.Duration) error {
				if p.late += d; d <= 0 {
					return errors.New("a wait that is no wait")
				}
				return nil
			},
		})
		if err != nil && !errors.Is(err, errIdle) {
			t.Fatal(err)
		}
		if len(left) == 0 || slices.ContainsFunc(left, func(d time.Duration) bool { return d != c.want }) {
			t.Errorf("%q, computing for %v: answers left after %v, want %v", c.federation, c.computing, left, c.want)
		}
		check(t, k.Close())
	}
}

// pacedLine calls a function when an answer leaves.
type pacedLine struct {
	line
	leaves func()
}

func (l *pacedLine) Submit(ctx context.Context, item transport.Item) error {
	l.leaves()
	return l.line.Submit(ctx, item)
}
