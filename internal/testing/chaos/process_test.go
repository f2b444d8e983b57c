package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"fedpvi/internal/durable"
	"fedpvi/transport"
)

// A process is the coordinator or a client, including all its restarts. The lock of the world
// protects it.
type process struct {
	w       *world
	index   int // 0 for the coordinator, m for client m
	name    string
	rng     *rand.Rand // random numbers that determine the delays of the process's messages
	disk    disk
	dir     string // state directory for the next start
	lives   int
	steps   int // number of writes, syncs and commits so far
	calls   int
	down    time.Duration // pause before the next start
	skew    time.Duration // offset of its clock
	full    time.Time     // until this time, its disk is full
	apart   time.Time     // until this time, it has no network connection
	lies    []kind        // kinds of false entries that it is going to receive
	drops   int           // how often the coordinator has closed its connection
	fresh   int           // how often its operator will still give it new keys
	revoked bool          // whether its keys have been, or are being, revoked
	life    *life         // present run; nil while the process is down
	done    bool
}

func (p *process) now() time.Time {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return time.Now().Add(p.skew)
}

// A life is one run of a process, from its start to its end.
type life struct {
	p       *process
	dir     string
	db      *bbolt.DB
	ctx     context.Context
	end     context.CancelFunc
	dead    bool // whether the process was killed; a killed process has no further effect
	excuses []string
}

// live starts the process, and starts it again after each end, until the simulation is over.
func (p *process) live(play func(*life) error) {
	for p.w.ctx.Err() == nil && !p.done {
		l := p.begin()
		err := play(l)
		p.finish(l, err)
		rest(p.w.ctx, p.down)
	}
}

func (p *process) begin() *life {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.lives++
	p.down = time.Second + time.Duration(p.rng.Int64N(int64(5*time.Second)))
	l := &life{p: p, dir: p.dir}
	l.ctx, l.end = context.WithCancel(p.w.ctx)
	p.life = l
	p.w.tell("%s starts", p.name)
	return l
}

// finish ends a run of the process. If the run has an error, a promise is broken unless a fault
// explains the error. A client may stop if it cannot reach the coordinator. A wrong clock is no
// excuse, because clocks differ by less than certificates allow.
func (p *process) finish(l *life, err error) {
	l.end()
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.life = nil
	if l.dead || p.w.ctx.Err() != nil {
		return
	}
	p.w.tell("%s ends: %v", p.name, err)
	var unreachable *transport.Unreachable
	if errors.As(err, &unreachable) {
		return
	}
	if p.revoked && isRefusal(err) {
		p.done = true
		p.w.endIfOver()
		return
	}
	if err != nil && len(l.excuses) == 0 {
		p.w.fail("%s stopped: %v", p.name, err)
	}
}

// excuse notes a fault. From then on, this run may end with an error.
func (l *life) excuse(why string) { l.excuses = append(l.excuses, why) }

// die kills the process. It copies the files that survive the fault to the directory in which the
// process starts again.
func (l *life) die(f fault) {
	if l.dead {
		return
	}
	l.dead = true
	p := l.p
	p.down = f.For
	p.dir = filepath.Join(p.w.dir, fmt.Sprintf("%s.%d", p.name, p.lives))
	p.w.tell("%s is killed at step %d, power failure %v", p.name, p.steps, f.Power)
	if err := p.disk.survive(l.dir, p.dir, f.Power, salted(f)); err != nil {
		p.w.fail("%v", err)
	}
	l.end()
}

func salted(f fault) *rand.Rand { return rand.New(rand.NewPCG(f.Salt, uint64(f.Kind))) }

// opened redirects the writes of a database that the process has opened to [life.write].
func (l *life) opened(db *bbolt.DB) {
	l.p.w.mu.Lock()
	defer l.p.w.mu.Unlock()
	if err := l.p.disk.begin(db.Path()); err != nil {
		l.p.w.fail("%v", err)
	}
	l.db = db
	intercept(db, l.write)
}

// layer returns a durable.Layer that applies the faults to the process's database and files.
func (l *life) layer() durable.Layer {
	return durable.Layer{Opened: l.opened, File: func(path string) (durable.File, error) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		return &faulty{f, l}, err
	}, Files: filer{l}}
}

// A faulty is the file that durable.Layer.Settle writes again, when a database is opened or a
// commit has failed. Its writes and syncs can fail, and they can kill the process.
type faulty struct {
	*os.File
	l *life
}

func (f *faulty) WriteAt(b []byte, off int64) (int, error) {
	f.l.p.w.mu.Lock()
	defer f.l.p.w.mu.Unlock()
	return f.l.put(f.File, b, off)
}

func (f *faulty) Sync() error {
	f.l.p.w.mu.Lock()
	defer f.l.p.w.mu.Unlock()
	return f.l.sync()
}

// write replaces bbolt's writes to the database file. It also simulates the syncs before and after
// the write of a meta page.
func (l *life) write(file *os.File, b []byte, off int64) (int, error) {
	l.p.w.mu.Lock()
	defer l.p.w.mu.Unlock()
	syncs := off < int64(2*l.db.Info().PageSize) && !l.db.NoSync // the first two pages are the meta pages
	if syncs {
		if err := l.sync(); err != nil {
			return 0, err
		}
	}
	n, err := l.put(file, b, off)
	if err == nil && syncs {
		err = l.sync()
	}
	return n, err
}

// put writes b at offset off of the database file. If the write fails or a crash is due at this
// step, it writes at most a random part of b and returns an error.
func (l *life) put(file *os.File, b []byte, off int64) (int, error) {
	f, err := l.due()
	if err == errUnsynced {
		err = nil
	}
	if err == nil || err != errDead || !l.dead {
		part := b
		if err != nil {
			part = b[:salted(f).IntN(len(b)+1)] // only a part of a torn write reaches the file
		}
		if _, err := file.WriteAt(part, off); err != nil {
			return 0, err
		}
		l.p.disk.wrote(part, off)
	}
	if err != nil {
		return 0, l.suffer(f, err)
	}
	return len(b), nil
}

func (l *life) sync() error {
	f, err := l.due()
	if err == nil {
		l.p.disk.sync()
		return nil
	}
	if err != errDead {
		l.p.disk.unsynced(salted(f))
	}
	return l.suffer(f, err)
}

// committed is called after a commit, before the process sends anything. If a crash is due, it
// kills the process and returns an error. Other faults have no effect here.
func (l *life) committed() error {
	l.p.w.mu.Lock()
	defer l.p.w.mu.Unlock()
	if f, err := l.due(); err == errDead {
		return l.suffer(f, err)
	}
	return nil
}

// errUnsynced is the error of a sync that fails.
var errUnsynced = fmt.Errorf("sync: %w", errIO)

// due counts a write, a sync or a commit of the process. If a fault is due at this step, it returns
// the fault and its error. Otherwise the error is nil.
func (l *life) due() (fault, error) {
	p := l.p
	if l.dead {
		return fault{}, errDead
	}
	p.steps++
	for _, f := range p.w.faults {
		if f.Who != p.index || f.Nth != p.steps {
			continue
		}
		switch f.Kind {
		case crashAtStep:
			return f, errDead
		case failWrite:
			return f, errIO
		case failSync:
			return f, errUnsynced
		case diskFull:
			p.full = time.Now().Add(f.For)
		}
	}
	if time.Now().Before(p.full) {
		return fault{Kind: diskFull, Salt: uint64(p.steps)}, errFull
	}
	return fault{}, nil
}

// suffer applies a fault that is due at this step, and returns err. If err is errDead, it kills the
// process. Otherwise it allows this run to end with err.
func (l *life) suffer(f fault, err error) error {
	if err == errDead {
		l.die(f)
		return err
	}
	l.p.w.tell("%s: %v at step %d", l.p.name, err, l.p.steps)
	l.excuse(err.Error())
	return err
}

// rest waits for the duration d, or until the simulation is over.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
