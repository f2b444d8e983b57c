package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"fedpvi/transport"
)

const mega = 1 << 20

// rounds runs a study and reports the cost of its rounds.
func rounds(ctx context.Context, o options) error {
	least, err := bare(ctx, o)
	if err != nil {
		return err
	}
	h, c, err := assemble(ctx, o)
	if err != nil {
		return err
	}
	defer h.stop()
	most := h.most()
	joined, err := h.usage()
	if err != nil {
		return err
	}
	say("%d clients have joined; the coordinator has %.0f MB", o.clients, float64(joined.resident)/mega)
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	spent, err := c.measure(h, func() error { return c.play(ctx, s, uint64(o.rounds)) })
	if err != nil {
		return err
	}
	whole := s.times.whole(o.clients)
	n := float64(len(whole))
	say("%d rounds of %d clients and %d numbers each, in %.1f s", len(whole), o.clients, s.size, spent.lasted.Seconds())
	say("  a client's round     %s: from its plan to its outcome", spread(s.times.own))
	say("  a round of all       %s: from the first client with the plan to the last with the outcome", spread(whole))
	say("  a round every        %s: from outcome to outcome at the last that has it", spread(s.times.periods(o.clients)))
	say("  processors           %.2f s of the coordinator in a round, %.2f s of the clients", spent.hub.Seconds()/n, spent.crowd.Seconds()/n)
	say("  a message            %d bytes, sealed and padded from %d", s.sealed(), 8*s.size)
	say("  bytes in a round     %.1f MB to the coordinator, %.1f MB from it", spent.sent/n/mega, spent.received/n/mega)
	end, err := c.measure(h, func() error { return c.play(ctx, s, 0) })
	if err != nil {
		return err
	}
	say("one more round and the end, with a receipt for each answer, in %.1f s: %.1f MB from the coordinator", end.lasted.Seconds(), end.received/mega)
	after, err := h.usage()
	if err != nil {
		return err
	}
	private := most()
	say("  memory of its own    at most %.0f MB: %.1f messages more than the %.0f MB of a coordinator that hardly serves", float64(private)/mega, float64(private-least.private)/float64(s.sealed()), float64(least.private)/mega)
	say("  resident, with pages of the store %.0f MB at the end, at most %.0f MB", float64(after.resident)/mega, float64(after.peak)/mega)
	return nil
}

// An effort is the cost of a task to the processes of the coordinator and the clients.
type effort struct {
	lasted         time.Duration
	hub, crowd     time.Duration // CPU time used by the coordinator and by the clients
	received, sent float64       // bytes that the clients received and sent
}

func (c *crowd) measure(h *hub, do func() error) (e effort, err error) {
	look := func() (hub usage, crowd time.Duration, received, sent int64) {
		hub, e1 := h.usage()
		crowd, e2 := processors()
		err = errors.Join(err, e1, e2)
		return hub, crowd, c.moved.received.Load(), c.moved.sent.Load()
	}
	hub, crowd, received, sent := look()
	began := time.Now()
	err = errors.Join(err, do())
	e.lasted = time.Since(began)
	hubAfter, crowdAfter, receivedAfter, sentAfter := look()
	e.hub, e.crowd = hubAfter.processor-hub.processor, crowdAfter-crowd
	e.received, e.sent = float64(receivedAfter-received), float64(sentAfter-sent)
	return e, err
}

// play runs all clients until they have received the given plan's outcome, or until the study is
// over.
func (c *crowd) play(ctx context.Context, s *script, plan uint64) error {
	return c.each(len(c.clients), func(p *light) error { return s.play(ctx, p, plan) })
}

// assemble starts a coordinator with one study, and makes clients join the study.
func assemble(ctx context.Context, o options) (*hub, *crowd, error) {
	o.studies = 1
	h, crowds, err := assembleAll(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return h, crowds[0], nil
}

func assembleAll(ctx context.Context, o options) (*hub, []*crowd, error) {
	var documents [][]byte
	for i := range o.studies {
		documents = append(documents, document(fmt.Sprintf("load-%d", i+1), o.coefficients, o.rounds+1, o))
	}
	h, invited, err := found(ctx, o, documents, o.clients)
	if err != nil {
		return nil, nil, err
	}
	if err := h.serve(ctx, o); err != nil {
		return nil, nil, err
	}
	if h.empty, err = h.usage(); err != nil {
		return nil, nil, errors.Join(err, h.stop())
	}
	var crowds []*crowd
	for i, d := range documents {
		c, err := gather(ctx, h.address, d, invited[i])
		if err != nil {
			return nil, nil, errors.Join(err, h.stop())
		}
		crowds = append(crowds, c)
	}
	return h, crowds, nil
}

// begin makes all clients consent, so that the study begins.
func (c *crowd) begin(ctx context.Context) (*script, error) {
	if err := c.each(atOnce, func(p *light) error { return p.approve(ctx) }); err != nil {
		return nil, err
	}
	return c.script(ctx)
}

// idle opens connections that wait for studies to begin. It reports how much memory the coordinator
// needs per connection, including the memory for joining.
func idle(ctx context.Context, o options) error {
	if o.connections < 1 || o.connections > 4 {
		return errors.New("a client has 1 to 4 connections")
	}
	o.rounds = 1
	h, crowds, err := assembleAll(ctx, o)
	if err != nil {
		return err
	}
	defer h.stop()
	waiting, leave := context.WithCancel(ctx)
	defer leave()
	var lines []*transport.Client
	for _, c := range crowds {
		more, err := c.wait(waiting, h.address, o.connections)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	select {
	case <-time.After(quiet):
	case <-ctx.Done():
		return ctx.Err()
	}
	u, err := h.usage()
	if err != nil {
		return err
	}
	open, err := h.connections()
	if err != nil {
		return err
	}
	n := float64(len(lines))
	say("%d connections of %d clients wait; the coordinator holds %d", len(lines), o.clients*o.studies, open)
	say("  memory               %.0f MB, %.0f MB before anybody had joined: %.0f KB for each", float64(u.resident)/mega, float64(h.empty.resident)/mega, float64(u.resident-h.empty.resident)/1024/n)
	leave()
	for _, l := range lines {
		err = errors.Join(err, l.Close())
	}
	return err
}

// quiet is how long the processes rest before memory is measured.
const quiet = 10 * time.Second

// wait makes every client wait for an entry. It opens the given number of connections.
func (c *crowd) wait(ctx context.Context, address string, connections int) ([]*transport.Client, error) {
	lines := make(chan *transport.Client, len(c.clients)*connections)
	err := c.each(atOnce, func(p *light) error {
		lines <- p.line
		for range connections - 1 {
			l, err := p.connect(ctx, address, &c.moved)
			if err != nil {
				return err
			}
			lines <- l
		}
		return nil
	})
	close(lines)
	var all []*transport.Client
	for l := range lines {
		go l.Entry(ctx, 1) // this call waits for an entry that is never published
		all = append(all, l)
	}
	return all, err
}

// soak runs rounds for a given time. It reports how much the coordinator's memory and state file
// grow.
func soak(ctx context.Context, o options) error {
	o.rounds = 999_999 // more rounds than the study will need
	h, c, err := assemble(ctx, o)
	if err != nil {
		return err
	}
	defer h.stop()
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	playing, stop := context.WithTimeout(ctx, o.lasts)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.play(playing, s, 0) }()
	var at, live, private, resident, file []float64
	began, said := time.Now(), 0
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for going := true; going; {
		select {
		case <-look.C:
			u, err := h.usage()
			if err != nil {
				return err
			}
			inUse, err := h.live(ctx)
			if err != nil {
				return err
			}
			since := time.Since(began)
			if since > o.lasts/5 { // the trend leaves out the first fifth of the time
				at = append(at, since.Minutes())
				live, private = append(live, inUse/mega), append(private, float64(u.private)/mega)
				resident, file = append(resident, float64(u.resident)/mega), append(file, float64(u.file)/mega)
			}
			if tenth := int(10 * since / o.lasts); tenth > said {
				said = tenth
				say("after %v: %d rounds, %.1f MB of its own, %.1f MB in use, the file %.0f MB", since.Round(time.Second), s.played(o.clients), float64(u.private)/mega, inUse/mega, float64(u.file)/mega)
			}
		case err := <-ended:
			if playing.Err() == nil {
				return fmt.Errorf("the rounds ended before the time: %w", cmp.Or(err, errors.New("the study is over")))
			}
			going = false
		}
	}
	if len(at) < stretches {
		return errors.New("too short to see a slope: give --lasts more")
	}
	n := s.played(o.clients)
	say("%d rounds of %d clients in %v", n, o.clients, o.lasts)
	say("  heap in use          %.1f MB at the end, %v", live[len(live)-1], trendOf(at, live))
	say("  memory of its own    %.0f MB at the end, %v", private[len(private)-1], trendOf(at, private))
	say("  resident, with pages of the store %.0f MB at the end, %v", resident[len(resident)-1], trendOf(at, resident))
	say("  the file             %.0f MB at the end, %v", file[len(file)-1], trendOf(at, file))
	return nil
}

// stretches is the number of time intervals into which [trendOf] divides the measurements.
const stretches = 12

// A trend is a growth rate per minute, with its standard deviation.
type trend struct{ slope, deviation float64 }

// trendOf averages the points in each of several time intervals, and fits a line to these averages
// by least squares. The intervals are long, because garbage collection makes successive
// measurements depend on each other. Each interval must have a point.
func trendOf(at, y []float64) trend {
	var x, means []float64
	for i := range stretches {
		from, to := i*len(y)/stretches, (i+1)*len(y)/stretches
		x, means = append(x, stat.Mean(at[from:to], nil)), append(means, stat.Mean(y[from:to], nil))
	}
	alpha, beta := stat.LinearRegression(x, means, nil, false)
	var rest, spread float64
	mid := stat.Mean(x, nil)
	for i := range x {
		off := means[i] - alpha - beta*x[i]
		rest += off * off
		spread += (x[i] - mid) * (x[i] - mid)
	}
	return trend{beta, math.Sqrt(rest / (stretches - 2) / spread)}
}

func (t trend) String() string {
	return fmt.Sprintf("%+.3f MB a minute (± %.3f)", t.slope, t.deviation)
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
