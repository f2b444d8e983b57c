package sim

import (
	"context"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/cuda"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Federation is a study being played.
type Federation struct {
	Protocol *pvi.Protocol
	Server   *pvi.Server
	Sites    []*pvi.Site // in the order of the roster
	Shards   []*shard.Shard
	Scale    *Standardisation // nil if the study asks for none

	seed     uint64
	workers  int
	streams  []*dpmech.Stream // each site's noise
	mail     []pvi.Release    // each site's last release
	post     post
	verdicts map[pvi.Verdict]int

	// LastOutcome is that of the last round; nil if the study has none, or has not come
	// to it.
	LastOutcome *pvi.OneStepOutcome
	last        []*pvi.OneStepSite
	iterates    *iterates // nil unless their variance is asked for
	computedOn  string    // devices, empty for the processor

	gathering *cuda.Gathering // of visits on devices; nil on the processor
}

// New returns a federation of the given holders at the prior, on the scale that a
// standardisation found if the study asks for one. Up to workers
// goroutines compute at a time; their number changes no bit.
func New(st *study.Study, holders []Holder, seed uint64, workers int) (*Federation, error) {
	if err := checkHolders(st, holders); err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	st, scale, err := standardise(st, holders, seed)
	if err != nil {
		return nil, err
	}
	shards := map[pvi.ClientID]*shard.Shard{}
	var roster []pvi.ClientID
	for _, h := range holders {
		roster = append(roster, h.ID)
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
	}
	for m, id := range protocol.Roster() {
		site, err := protocol.NewSite(id, shards[id])
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

// checkHolders refuses holders without records, unless the unit is the record:
// whether there is any is then itself private, and they release noise.
func checkHolders(st *study.Study, holders []Holder) error {
	if st.Privacy.Unit == study.Record {
		return nil
	}
	records := 0
	var empty []pvi.ClientID
	for _, h := range holders {
		records += h.Records.Len()
		if h.Records.Len() == 0 {
			empty = append(empty, h.ID)
		}
	}
	if len(empty) > 0 {
		return fmt.Errorf("%d records for %d clients: client %s has none; lower simulation.clients, or leave it out of the partition", records, len(holders), empty[0])
	}
	return nil
}

// Step plays until the next outcome, which all sites have then followed, and
// returns it; nil if the study is done.
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
	for {
		m, ok := f.post.next()
		if !ok {
			return nil, nil
		}
		outcome, err := f.Server.Collect(&f.mail[m])
		if err != nil {
			return nil, err
		}
		if outcome == nil {
			continue
		}
		f.verdicts[outcome.Verdict]++
		if err := f.iterates.add(outcome, f.Server.Posterior()); err != nil {
			return nil, err
		}
		return outcome, f.forSites(len(f.Sites), func(i int) error { return f.Sites[i].Settle(outcome) })
	}
}

// propose has the plan's participants answer and posts the answers.
func (f *Federation) propose(plan *pvi.Plan) error {
	asked := make([]int, len(plan.Participants))
	m := 0
	for i, id := range plan.Participants {
		for f.Sites[m].ID() != id { // both are in order
			m++
		}
		asked[i] = m
	}
	err := f.forProposals(len(asked), func(i int) error {
		m := asked[i]
		noiseFor(f.streams[m], f.seed, m, plan.Number)
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

// Message returns what site m released last. It is valid until the next Step.
func (f *Federation) Message(m int) *pvi.Release { return &f.mail[m] }

// forSites shares work among goroutines where there is enough to be worth their
// start.
func (f *Federation) forSites(n int, do func(i int) error) error {
	workers := f.workers
	solver := f.Protocol.Study().Inference.Solver
	statistics := solver == study.Conjugate || solver == study.ClippedAnalytical
	if statistics && n*f.Protocol.Family().Size() < 2000 {
		workers = 1
	}
	return forEach(workers, n, do)
}

// forProposals is forSites for what sites propose. On devices all compute at a time, each
// of which takes the steps of its sites together.
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

// Count returns the number of outcomes so far with the given verdict.
func (f *Federation) Count(v pvi.Verdict) int { return f.verdicts[v] }

// Run plays the study to its end or until ctx is done, and calls observe after
// every outcome but that of the last round, if there is one.
func (f *Federation) Run(ctx context.Context, observe func(*pvi.Outcome) error) error {
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
