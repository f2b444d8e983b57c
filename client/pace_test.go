package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/table/origin"
	"fedpvi/transport"
)

// The test clock moves only while a client computes or waits.
func TestAnswersLeaveAtThePace(t *testing.T) {
	for _, c := range []struct {
		federation string
		computing  time.Duration
		want       time.Duration // time between the plan and the answer
	}{
		{"pace = 2.5", 0, 2500 * time.Millisecond},
		{"pace = 2.5", time.Millisecond, 2500 * time.Millisecond},
		{"pace = 2.5", 2499 * time.Millisecond, 2500 * time.Millisecond},
		{"pace = 2.5", 2500 * time.Millisecond, 5 * time.Second},
		{"pace = 2.5", 12 * time.Second, 12500 * time.Millisecond},
		{"", 7 * time.Second, 7 * time.Second}, // studies of version 1 have no pace
	} {
		h, all := federation(t, planeStudy(recordPrivacy, "", c.federation), "north")
		p := all[0]
		p.edit("minimum = 2", "minimum = 1")
		check(t, p.approve())
		h.begin()
		var left []time.Duration
		check(t, p.with(func(k *client.Client, m *client.Member, policy *client.Policy) error {
			k.SeedNoise(func(ask int) *dpmech.Stream {
				p.late += c.computing
				return seeded.Stream(1, "client", p.seed, uint64(ask))
			})
			began := p.late
			sent := &pacedLine{line{h, p.name}, func() {
				left = append(left, p.late-began)
				began = p.late // once this answer arrives, the coordinator publishes the next plan
			}}
			_, err := k.Run(t.Context(), client.Run{
				Member: m, Policy: policy, Data: origin.Source{From: p.data},
				Connect: func(context.Context) (client.Link, io.Closer, error) {
					began = p.late
					return sent, sent, nil
				},
				Wait: func(_ context.Context, d time.Duration) error {
					if p.late += d; d <= 0 {
						return errors.New("a wait that is no wait")
					}
					return nil
				},
			})
			if errors.Is(err, errIdle) {
				return nil
			}
			return err
		}))
		if len(left) == 0 || slices.ContainsFunc(left, func(d time.Duration) bool { return d != c.want }) {
			t.Errorf("%q, computing for %v: answers left after %v, want %v", c.federation, c.computing, left, c.want)
		}
	}
}

// How long it takes to read the records depends on their number. The test clock runs until the
// client waits or connects.
func TestReturningClientKeepsThePace(t *testing.T) {
	for _, reading := range []time.Duration{time.Millisecond, 70 * time.Millisecond, time.Second} {
		h, all := federation(t, planeStudy(recordPrivacy, "", "pace = 2.5"), "north")
		p := all[0]
		p.edit("minimum = 2", "minimum = 1")
		check(t, p.approve())
		h.begin()
		var connected, left time.Duration
		run := func(submit func()) {
			t.Helper()
			reads := true
			k, err := client.Open(client.Options{Dir: p.dir, Program: "test 1", Command: "a test", Now: func() time.Time {
				if reads {
					p.late += reading
				}
				return p.now()
			}})
			check(t, err)
			defer k.Close()
			policy, err := client.LoadPolicy(p.dir)
			check(t, err)
			m, err := k.Member("")
			check(t, err)
			p.late = 0
			_, err = k.Run(t.Context(), client.Run{
				Member: m, Policy: policy, Data: origin.Source{From: p.data},
				Connect: func(context.Context) (client.Link, io.Closer, error) {
					connected, reads = p.late, false
					l := &pacedLine{line{h, p.name}, submit}
					return l, l, nil
				},
				Wait: func(_ context.Context, d time.Duration) error {
					p.late, reads = p.late+d, false
					return nil
				},
			})
			if err != nil && !errors.Is(err, errIdle) {
				t.Fatal(err)
			}
		}
		stop := errors.New("stopped")
		func() {
			defer func() { _ = recover() }()
			run(func() { panic(stop) }) // the program ends while sending its first answer
		}()
		left = -1
		run(func() {
			if left < 0 {
				left = p.late - connected
			}
		})
		const pace = 2500 * time.Millisecond
		if start := connected - reading; start <= 0 || start%pace != 0 || left <= 0 || left%pace != 0 {
			t.Errorf("reading for %v: connected after %v, and the answer left %v later", reading, connected, left)
		}
	}
}

// A client may stop because its answers fail. The time when it stops must not show when it computed
// the last one. The test clock moves only while a client computes or waits.
func TestFailingClientKeepsThePace(t *testing.T) {
	const pace = 2500 * time.Millisecond
	source := planeStudy(recordPrivacy, "solver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4", "pace = 2.5")
	h, all := federation(t, bytes.Replace(source, []byte("rounds = 3"), []byte("rounds = 9"), 1), "north", "south")
	h.spoil(all[0].name)
	h.begin()
	for range 6 {
		for _, p := range all {
			before := p.late
			err := p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
				c.SeedNoise(func(ask int) *dpmech.Stream {
					p.late += time.Millisecond
					return seeded.Stream(1, "client", p.seed, uint64(ask))
				})
				_, err := p.runIn(c, m, line{h, p.name})
				return err
			})
			if err == nil {
				continue
			}
			if failing := new(client.Failing); !errors.As(err, &failing) {
				t.Fatal(err)
			}
			if took := p.late - before; took <= pace || took%pace != 0 {
				t.Errorf("%s stopped after %v", p.name, took)
			}
			return
		}
		for _, ask := range h.server.Open() {
			h.close(ask)
		}
	}
	t.Error("no client has stopped")
}

type pacedLine struct {
	line
	leaves func()
}

func (l *pacedLine) Submit(ctx context.Context, item transport.Item) error {
	l.leaves()
	return l.line.Submit(ctx, item)
}

// Others can see when a client began, because it has only just joined, or from its metrics or audit
// log. The time of its first connection must not reveal how long it took to read its records.
func TestFirstConnectionKeepsThePace(t *testing.T) {
	for _, reading := range []time.Duration{time.Millisecond, time.Second} {
		p := newHolder(t, newHub(t, planeStudy(recordPrivacy, "", "pace = 2.5")), "north", 0)
		check(t, p.approve())
		reads, connected := false, time.Duration(0)
		k, err := client.Open(client.Options{Dir: p.dir, Program: "test 1", Command: "a test", Now: func() time.Time {
			if reads {
				p.late += reading
			}
			return p.now()
		}})
		check(t, err)
		policy, err := client.LoadPolicy(p.dir)
		check(t, err)
		m, err := k.Member("")
		check(t, err)
		reads = true
		stop := errors.New("stopped")
		_, err = k.Run(t.Context(), client.Run{
			Member: m, Policy: policy, Data: origin.Source{From: p.data},
			Connect: func(context.Context) (client.Link, io.Closer, error) {
				connected = p.late
				return nil, nil, stop
			},
			Wait: func(_ context.Context, d time.Duration) error {
				p.late, reads = p.late+d, false
				return nil
			},
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if start := connected - reading; start <= 0 || start%(2500*time.Millisecond) != 0 {
			t.Errorf("reading for %v: connected after %v", reading, connected)
		}
		check(t, k.Close())
	}
}
