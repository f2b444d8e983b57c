package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/seal"
	"fedpvi/internal/table/origin"
)

// A world is a simulated study: its coordinator, its clients, and their faults.
type world struct {
	*template
	dir    string
	pace   time.Duration // maximum delay of a message
	faults []fault
	model  *model
	parts  []*process // all parties; the coordinator comes first

	ctx context.Context
	end context.CancelFunc
	wg  sync.WaitGroup

	mu      sync.Mutex // protects the fields below and the processes
	address *address
	known   []*seal.Key // keys that have opened an answer
	wrong   string      // description of the first broken promise
	begun   time.Time
	story   []string
	told    bool // whether to keep a log of events
	steps   int
}

// An account is the result of a simulation. wrong describes the promise that was broken, or is ""
// if none was. story is the log.
type account struct {
	wrong string
	story []string
	steps int           // number of writes, syncs and commits of all processes
	took  time.Duration // simulated time
}

// play runs a simulation in simulated time. With the same seed and faults, the result is the same.
func play(t *testing.T, of *template, dir string, seed uint64, pace time.Duration, faults []fault, told bool) (a account) {
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(*testing.T) {
		w := &world{template: of, dir: dir, pace: pace, faults: faults, begun: time.Now(), told: told}
		w.model = newModel(w)
		w.ctx, w.end = context.WithCancel(context.Background())
		defer w.end()
		if err := w.populate(seed); err != nil {
			w.wrong = err.Error()
		} else {
			w.run()
		}
		a = account{w.wrong, w.story, w.steps, time.Since(w.begun)}
	})
	return a
}

func (w *world) populate(seed uint64) error {
	names := []string{"coordinator"}
	for _, n := range w.names {
		names = append(names, string(n))
	}
	for i, name := range names {
		p := &process{w: w, index: i, name: name, disk: disk{files: newTree()}, rng: rand.New(rand.NewPCG(seed, uint64(i))), dir: filepath.Join(w.dir, name+".0")}
		if err := copyTree(filepath.Join(w.template.dir, name), p.dir); err != nil {
			return err
		}
		w.parts = append(w.parts, p)
	}
	return nil
}

// run runs all processes until the study is over for all clients or can no longer end.
func (w *world) run() {
	w.wg.Go(func() { w.parts[0].live(w.coordinate) })
	for _, p := range w.parts[1:] {
		w.wg.Go(func() { p.live(w.takePart) })
	}
	for _, f := range w.faults {
		if f.Nth == 0 {
			w.later(f.At, func() { w.befall(f) })
		}
	}
	w.wg.Go(w.watch)
	<-w.ctx.Done()
	w.wg.Wait()
	for _, p := range w.parts {
		w.steps += p.steps
	}
}

func (w *world) coordinate(l *life) error {
	hub, err := coordinator.Open(l.dir, coordinator.Options{
		Now: l.p.now, RoundDeadline: deadline, Store: store.Options{Layer: l.layer(), Long: w.template.long, Commit: func(commit func() error) error {
			if err := commit(); err != nil {
				return err
			}
			return l.committed()
		}},
	})
	if err != nil {
		return err
	}
	study := hub.Studies()[0]
	study.OnDrop(func(of channel.Party) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, p := range w.parts[1:] {
			if p.name == string(of.Name) {
				p.drops++
			}
		}
	})
	w.serve(&address{study, l})
	<-l.ctx.Done()
	w.serve(nil)
	return hub.Close()
}

func (w *world) takePart(l *life) error {
	c, err := client.Open(client.Options{
		Dir: l.dir, Program: "chaos 1", Command: "chaos", Now: l.p.now, Create: true, Layer: l.layer(), Boundary: func(point string) error {
			if point[len(point)-len("before the commit"):] == "before the commit" {
				return nil
			}
			return l.committed()
		},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	k := (&link{life: l, peer: w.party(l.p)}).connect()
	m, policy, err := w.admit(l, c, k)
	if err != nil {
		return err
	}
	w.model.opened(l.p, c, m)
	if err := w.freshKeys(l, c, m, k); err != nil {
		return err
	}
	ending, err := c.Run(l.ctx, client.Run{
		Member: m, Policy: policy, Data: origin.Source{From: w.records(l.p.name)}, Patience: time.Hour,
		Connect: func(context.Context) (client.Link, io.Closer, error) { return k.connect(), k, nil },
		Wait: func(ctx context.Context, d time.Duration) error {
			rest(ctx, d)
			return ctx.Err()
		},
	})
	if err == nil {
		w.model.ended(l, c, ending)
	}
	return err
}

// admit lets a client join the study and approve it, unless it has already done so.
func (w *world) admit(l *life, c *client.Client, k *link) (*client.Member, *client.Policy, error) {
	m, err := c.Member("")
	var none *client.UsageError
	if errors.As(err, &none) {
		m, _, err = c.Join(l.ctx, w.invitations[l.p.index-1], k, accountant.Target{Epsilon: 1, Delta: 1e-5})
	}
	if err != nil {
		return nil, nil, err
	}
	policy, err := client.LoadPolicy(l.dir)
	if err != nil {
		return nil, nil, err
	}
	if _, ok := c.Terms(m, policy); !ok {
		_, err = c.Approve(m, policy, datasetName, m.Hash.String())
	}
	return m, policy, err
}

// befall applies a fault that happens at a given time.
func (w *world) befall(f fault) {
	p := w.parts[f.Who]
	switch f.Kind {
	case newKeys, revoke, months:
		w.change(p, f)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch f.Kind {
	case clockJump:
		jump := f.For * 2
		if f.Power {
			jump = -jump
		}
		p.skew += jump
		w.tell("the clock of %s jumps by %v", p.name, jump)
	case partition:
		p.apart = time.Now().Add(f.For)
		w.tell("%s is cut off for %v", p.name, f.For)
	default:
		if p.life != nil {
			p.life.die(f)
		}
	}
}

func (w *world) later(d time.Duration, do func()) {
	w.wg.Go(func() {
		if rest(w.ctx, d); w.ctx.Err() == nil {
			do()
		}
	})
}

func (w *world) serve(a *address) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.address = a
}

// serving returns the coordinator that process p can call now. It returns nil if the process or the
// coordinator has no connection.
func (w *world) serving(p *process) *address {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(p.apart) || w.address != nil && w.address.life.dead {
		return nil
	}
	return w.address
}

func (w *world) isDead(l *life) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return l.dead
}

func (w *world) isApart(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(p.apart)
}

// fail records the first broken promise and ends the simulation. The caller holds the lock.
func (w *world) fail(format string, args ...any) {
	if w.wrong == "" && w.ctx.Err() == nil {
		w.wrong = fmt.Sprintf(format, args...)
		w.tell("WRONG: %s", w.wrong)
	}
	w.end()
}

// tell adds a line to the simulation's log. File names in it are relative to the world, so that two
// simulations with the same seed have the same log. The caller holds the lock.
func (w *world) tell(format string, args ...any) {
	if w.told {
		line := strings.ReplaceAll(fmt.Sprintf(format, args...), w.dir+string(filepath.Separator), "")
		w.story = append(w.story, fmt.Sprintf("%12s  ", time.Since(w.begun).Round(time.Millisecond))+line)
	}
}
