package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"

	"gonum.org/v1/gonum/floats"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// An outcome holds everything that others may see when a client reads its file and answers a plan,
// except for the released numbers. No single record may affect it. It leaves out the size of the
// state, which others never see.
type outcome struct {
	read     string // error from reading the file
	answered bool
	failure  string
	size     int // size of the release in bytes
	spent    session.Spent
	logged   string
}

// differs describes the first difference between two outcomes, or returns "" if they are equal.
func (o outcome) differs(from outcome) string {
	switch {
	case o.read != from.read:
		return fmt.Sprintf("a file is read with the error %q, its neighbour with %q", o.read, from.read)
	case o.answered != from.answered || o.failure != from.failure:
		return fmt.Sprintf("an answer exists: %t (%s), without the record %t (%s)", o.answered, o.failure, from.answered, from.failure)
	case o.size != from.size:
		return fmt.Sprintf("an answer has %d bytes, without the record %d", o.size, from.size)
	case !reflect.DeepEqual(o.spent, from.spent):
		return "an answer has a different charge than without the record"
	case o.logged != from.logged:
		return fmt.Sprintf("the log says %q, without the record %q", o.logged, from.logged)
	}
	return ""
}

// logging lets only one audit at a time read the log of the whole program.
var logging sync.Mutex

// listen calls f and returns the lines that the program logs during the call, without times.
func listen(f func()) string {
	logging.Lock()
	defer logging.Unlock()
	var b bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	defer slog.SetDefault(before)
	f()
	return b.String()
}

// compare simulates a study in which the first client answers every plan twice, from the same state
// and with the same noise: with and without the given rows in its file. It describes the first
// difference that others could see, or returns "" if there is none.
func (c combination) compare(st *study.Study, rows []string, seed uint64) (_ string, err error) {
	p := play{study: st, roster: []pvi.ClientID{clientID(0), clientID(1)}, seed: seed, once: c.mode.keepsRows}
	if p.sensitivity, err = c.sensitivityOf(st, p.roster, len(rows)); err != nil {
		return "", err
	}
	files := c.neighbours(rows...)
	var seen [2]outcome
	for world, text := range files {
		var err error
		seen[world].logged = listen(func() { p.records[world], err = read(st, text) })
		if err != nil {
			seen[world].read = err.Error()
		}
	}
	if d := seen[1].differs(seen[0]); d != "" || p.records[0] == nil {
		return d, nil
	}
	return p.run(c.shared())
}

func read(st *study.Study, text string) (*shard.Records, error) {
	records, _, err := shard.Read("records.csv", strings.NewReader(text), st)
	if err != nil {
		return nil, err
	}
	return records.Keep(st), nil
}

// A play is the simulation of [combination.compare], with two clients. The first has two
// neighbouring files, and its answers from both are compared.
type play struct {
	study   *study.Study
	roster  []pvi.ClientID
	records [2]*shard.Records
	seed    uint64
	// sensitivity returns an upper bound on the distance between the released numbers of the two
	// answers in a round. It returns 0 if there is no bound, because the numbers come from several
	// mechanisms.
	sensitivity func(round int) float64
	once        bool // whether to compare answers to the first plan only, because later states depend on the file

	server *session.Server
	sites  []*session.Site
	// the first client's site with the other file, with the state of sites[0] until its first
	// answer
	fresh []*session.Site
	found string
}

// run simulates the study until it ends or others could see a difference, which run describes.
// others is the file of the second client.
func (p *play) run(others string) (string, error) {
	second, err := read(p.study, others)
	if err != nil {
		return "", err
	}
	for m, records := range []*shard.Records{p.records[0], second} {
		site, err := session.NewSite(p.study, p.roster, p.roster[m], records)
		if err != nil {
			return "", err
		}
		p.sites = append(p.sites, site)
	}
	twin, err := session.NewSite(p.study, p.roster, p.roster[0], p.records[1])
	if err != nil {
		return "the other file is refused: " + err.Error(), nil
	}
	p.fresh = []*session.Site{twin}
	if p.server, err = session.NewServer(p.study, p.roster); err != nil {
		return "", err
	}
	for !p.server.Done() {
		plan, ok := p.server.Next()
		if !ok {
			return "", errors.New("the server has no plan")
		}
		if err := p.tell(plan); err != nil {
			return "", err
		}
		for m, site := range p.sites {
			if _, asked := site.Pending(); !asked {
				continue
			}
			entry, err := p.answer(m, plan.Plan)
			if err != nil || p.found != "" {
				return p.found, err
			}
			if m == 0 && p.once {
				return "", nil
			}
			if entry == nil {
				continue
			}
			if err := p.tell(*entry); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// tell passes an entry of the transcript to all sites.
func (p *play) tell(e session.Entry) error {
	for _, site := range append(p.fresh, p.sites...) {
		if err := site.Follow(e); err != nil {
			return err
		}
	}
	return nil
}

// twin returns a second site for the first client, with its other file and the state of p.sites[0].
func (p *play) twin() (*session.Site, error) {
	if len(p.fresh) > 0 {
		defer func() { p.fresh = nil }()
		return p.fresh[0], nil
	}
	state, err := p.sites[0].MarshalBinary()
	if err != nil {
		return nil, err
	}
	return session.RestoreSite(p.study, p.roster, p.roster[0], p.records[1], state)
}

// answer returns the answer of site m to a plan. For the first client, it also computes the answer
// with the other file. If others could see a difference between the two answers, answer describes
// it in p.found and returns nil.
func (p *play) answer(m, plan int) (*session.Entry, error) {
	var other []byte
	var second outcome
	if m == 0 {
		twin, err := p.twin()
		if err != nil {
			return nil, err
		}
		other, second = p.observe(twin, m, plan)
	}
	release, first := p.observe(p.sites[m], m, plan)
	if m == 0 {
		if p.found = second.differs(first); p.found == "" && first.answered {
			p.found = far(release, other, len(p.roster), p.sensitivity)
		}
		if p.found != "" {
			return nil, nil
		}
	}
	if !first.answered {
		return nil, fmt.Errorf("client %d does not answer: %s", m+1, first.failure)
	}
	return p.server.Collect(p.roster[m], plan, release)
}

// far compares the numbers in two encoded releases, and describes their distance if it exceeds the
// sensitivity.
func far(release, other []byte, clients int, sensitivity func(round int) float64) string {
	limits := wire.Limits{Elements: 1 << 20, Clients: clients, Name: 64}
	a, err := wire.ReadRelease(release, limits)
	b, again := wire.ReadRelease(other, limits)
	if err != nil || again != nil {
		// messages of the scale phase and the last round have other formats, and are not compared
		return ""
	}
	most := sensitivity(a.Number)
	if gap := floats.Distance(asFloats(a.Change), asFloats(b.Change), 2); most > 0 && gap > most*(1+1e-12) {
		return fmt.Sprintf("the numbers of an answer differ by %.4g times the accounted sensitivity", gap/most)
	}
	return ""
}

// sensitivityOf returns the field sensitivity of a [play] whose two files differ in the given
// number of rows.
func (c combination) sensitivityOf(st *study.Study, roster []pvi.ClientID, rows int) (func(round int) float64, error) {
	none := func(int) float64 { return 0 }
	if c.mode.derived {
		return none, nil
	}
	p, err := session.Public(st, roster)
	if err != nil {
		return nil, err
	}
	times := float64(rows)
	if c.mode.unit == study.Client {
		times = 2 // two vectors can be twice the clip apart, even under zero-out
		if c.adjacency == accountant.ReplaceOne {
			times = 1
		}
	}
	of := func(m *dpmech.GaussianSum) float64 {
		return times * m.EventFor(1, c.adjacency).(accountant.DiscreteGaussian).Sensitivity
	}
	switch m := p.Method().(type) {
	case method.Stepped:
		return none, nil // an answer comes from several noisy sums, so it has no single sensitivity
	case rounded:
		return func(round int) float64 { return of(m.Mechanism(round)) }, nil
	case method.Single:
		return func(int) float64 { return of(m.Mechanism()) }, nil
	}
	return none, nil
}

// observe makes a site answer a plan with the noise of client m. It returns the release, and
// everything else that others can see of the answer.
func (p *play) observe(site *session.Site, m, plan int) (release []byte, o outcome) {
	o.logged = listen(func() {
		a, err := site.Answer(seeded.Stream(p.seed, "outcomes", uint64(m), uint64(plan)))
		if err != nil {
			o.failure = err.Error()
		}
		release = a.Release
		o.answered, o.size, o.spent = a.Release != nil, len(a.Release), a.Spent
		if _, err := site.MarshalBinary(); err != nil {
			o.failure += err.Error()
		}
	})
	return release, o
}

// outcomes returns a question that compares the outcomes of neighbouring files for the sample of
// combinations.
func outcomes() question {
	return single("clients", "outcomes", func(ctx context.Context, t task) (Check, error) {
		n := 0
		for _, c := range sample() {
			if err := ctx.Err(); err != nil {
				return Check{}, err
			}
			st, err := c.study()
			if err != nil {
				return Check{}, fmt.Errorf("%s: %w", c, err)
			}
			corners := c.corners()
			one := corners[(int(t.seed)+n)%len(corners)]
			if n%2 == 0 {
				one = corners[2+n/2%2] // a row with x at its lower bound
			}
			for _, rows := range [][]string{{one}, corners} {
				found, err := c.compare(st, rows, t.seed)
				if err != nil {
					return Check{}, fmt.Errorf("%s: %w", c, err)
				}
				if found != "" {
					return certain(false, "%s, %d records such as %q: %s", c, len(rows), one, found), nil
				}
			}
			n++
		}
		return certain(true, "answers, errors, sizes, charges and logs are equal, and numbers within the sensitivity, for files with and without records at every corner of the domain, in %d studies", n), nil
	})
}
