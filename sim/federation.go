package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/cuda"
	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Federation runs a study in this process.
type Federation struct {
	Protocol *pvi.Protocol
	Server   *pvi.Server
	Sites    []*pvi.Site // sites of the clients, in the order of the roster
	Shards   []*shard.Shard
	Scale    *Standardisation // scale of the columns; nil if the study does not standardise columns

	seed     uint64
	workers  int
	streams  []*dpmech.Stream // stream for the noise of each site
	mail     []pvi.Release    // each site's last release
	post     *post
	verdicts map[pvi.Verdict]int

	// LastOutcome is the outcome of the last round, or nil if there is none yet.
	LastOutcome *lastround.Outcome
	last        []*lastround.Site
	iterates    *iterates // nil unless the study asks for the variance of the iterates
	computedOn  string    // names of the devices; empty for the CPU

	adder *Adder // adds up releases with secure sums; nil if the server adds them up itself

	gathering *cuda.Gathering // combines the steps of several sites into one launch of a device; nil on the CPU
	tables    cuda.Tables     // copies of the sites' records on devices
	failed    func(error) error
}

// New returns a federation of the given holders, whose posterior starts at the prior. If the study
// has a scale phase, New runs it and standardises the columns. At most workers goroutines compute
// at a time; their number does not affect the results.
func New(st *study.Study, holders []Holder, seed uint64, workers int) (*Federation, error) {
	return newFederation(st, holders, seed, workers, nil)
}

// newFederation is like [New]. If clock is not nil, the study must have secure sums, and all its
// phases use them.
func newFederation(st *study.Study, holders []Holder, seed uint64, workers int, clock func() float64) (*Federation, error) {
	if err := checkHolders(st, holders); err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	holders = kept(st, holders)
	var roster []pvi.ClientID
	for _, h := range holders {
		roster = append(roster, h.ID)
	}
	var adder *Adder
	if clock != nil {
		var err error
		if adder, err = newAdder(st, roster, clock); err != nil {
			return nil, err
		}
	}
	st, scale, err := standardise(st, holders, roster, seed, adder)
	if err != nil {
		return nil, err
	}
	shards := map[pvi.ClientID]*shard.Shard{}
	for _, h := range holders {
		shards[h.ID] = shard.Design(st, h.Records)
	}
	protocol, err := pvi.NewProtocol(st, roster)
	if err != nil {
		return nil, err
	}
	f := &Federation{
		Protocol: protocol,
		Server:   pvi.NewServer(protocol),
		Scale:    scale,
		seed:     seed,
		workers:  workers,
		verdicts: map[pvi.Verdict]int{},
		mail:     make([]pvi.Release, len(roster)),
		iterates: newIterates(protocol),
		adder:    adder,
	}
	for m, id := range protocol.Roster() {
		site, err := newSite(protocol, id, shards[id])
		if err != nil {
			return nil, fmt.Errorf("client %s: %w", id, err)
		}
		f.Sites = append(f.Sites, site)
		f.Shards = append(f.Shards, shards[id])
		f.streams = append(f.streams, seeded.Stream(seed, purposeNoise, uint64(m)))
	}
	f.post = newPost(st.Inference.Schedule, seed, len(roster))
	return f, nil
}

// kept returns the holders with only the records that clients use: a limited number of rows of each
// person.
func kept(st *study.Study, holders []Holder) []Holder {
	out := make([]Holder, len(holders))
	for m, h := range holders {
		out[m] = Holder{ID: h.ID, Records: h.Records.Keep(st)}
	}
	return out
}

// checkHolders returns an error if a holder has no records. But if the privacy unit is the record
// or the person, the number of records is private, so that a holder without records takes part too,
// and releases noise.
func checkHolders(st *study.Study, holders []Holder) error {
	empty := slices.IndexFunc(holders, func(h Holder) bool { return h.Records.Len() == 0 })
	if st.Privacy.Unit.OfRecords() || empty < 0 {
		return nil
	}
	records := 0
	for _, h := range holders {
		records += h.Records.Len()
	}
	return fmt.Errorf("%d records for %d clients: client %s has none; lower simulation.clients, or leave it out of the partition", records, len(holders), holders[empty].ID)
}

// Step runs the study up to the next outcome, passes this outcome to all sites and returns it. At
// the end of the study it returns nil.
func (f *Federation) Step() (*pvi.Outcome, error) {
	for {
		plan, ok := f.Server.Next()
		if !ok {
			break
		}
		if err := f.propose(&plan); err != nil {
			return nil, err
		}
	}
	collect := f.collect
	if f.adder != nil {
		collect = f.collectSecurely
	}
	outcome, err := collect()
	if err != nil || outcome == nil {
		return nil, err
	}
	f.verdicts[outcome.Verdict]++
	if err := f.iterates.add(outcome, f.Server.Posterior()); err != nil {
		return nil, err
	}
	return outcome, f.forSites(len(f.Sites), func(i int) error { return f.Sites[i].Settle(outcome) })
}

// collect returns the next outcome, or nil if no answer is under way.
func (f *Federation) collect() (outcome *pvi.Outcome, err error) {
	for outcome == nil && err == nil {
		m, ok := f.post.next()
		if !ok {
			return nil, nil
		}
		outcome, err = f.Server.Collect(&f.mail[m])
	}
	return outcome, err
}

func (f *Federation) propose(plan *pvi.Plan) error {
	asked := make([]int, len(plan.Participants))
	m := 0
	for i, id := range plan.Participants {
		for f.Sites[m].ID() != id { // a plan lists its participants in the order of f.Sites
			m++
		}
		asked[i] = m
	}
	err := f.forProposals(len(asked), func(i int) error {
		m := asked[i]
		seeded.Rekey(f.streams[m], f.seed, purposeNoise, uint64(m), uint64(plan.Number))
		return f.Sites[m].Propose(&f.mail[m], plan, f.streams[m])
	})
	if err != nil {
		return err
	}
	for _, m := range asked {
		f.post.send(m)
	}
	return nil
}

// Message returns the most recent release of site m, which the next call of Step overwrites.
func (f *Federation) Message(m int) *pvi.Release { return &f.mail[m] }

// forSites calls do(i) for every site i from 0 to n−1. If the work is large enough, several
// goroutines make the calls.
func (f *Federation) forSites(n int, do func(i int) error) error {
	workers := f.workers
	solver := f.Protocol.Study().Inference.Solver
	statistics := solver == study.Conjugate || solver == study.ClippedAnalytical
	if statistics && n*f.Protocol.Family().Size() < 2000 {
		workers = 1
	}
	return forEach(workers, n, do)
}

// forProposals calls do(i) for every i from 0 to n−1, where i numbers the sites that answer a plan.
// With devices, all calls run concurrently, so that a device can combine the steps of its sites.
func (f *Federation) forProposals(n int, do func(i int) error) error {
	if f.gathering == nil {
		return f.forSites(n, do)
	}
	f.gathering.Join(n)
	return forEach(n, n, func(i int) error {
		defer f.gathering.Leave()
		return do(i)
	})
}

// Count returns how many outcomes so far have the given verdict.
func (f *Federation) Count(v pvi.Verdict) int { return f.verdicts[v] }

// Run runs the study until it ends or ctx is done. It calls observe after every outcome, but not
// after the last round.
func (f *Federation) Run(ctx context.Context, observe func(*pvi.Outcome) error) (err error) {
	defer func() {
		if free := f.tables.Free(); free != nil {
			err = errors.Join(err, f.failed(free))
		}
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		outcome, err := f.Step()
		if err != nil {
			return err
		}
		if outcome == nil {
			return f.lastRound()
		}
		if err := observe(outcome); err != nil {
			return err
		}
	}
}
