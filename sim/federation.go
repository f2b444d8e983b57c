package sim

import (
	"context"
	"fmt"

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
	Sites    []*pvi.Site // sites in the order of the roster
	Shards   []*shard.Shard
	Scale    *Standardisation // nil if the study does not standardise columns

	seed     uint64
	workers  int
	streams  []*dpmech.Stream // stream of the noise of each site
	mail     []pvi.Release    // last release of each site
	post     post
	verdicts map[pvi.Verdict]int

	// LastOutcome is the outcome of the last round. It is nil if the study has no last round, or
	// before the last round.
	LastOutcome *lastround.Outcome
	last        []*lastround.Site
	iterates    *iterates // nil unless the study requests the variance of the iterates
	computedOn  string    // names of the devices; empty for the processor

	gathering *cuda.Gathering // joins the visits of sites on devices; nil on the processor
}

// New returns a federation of the given holders whose q is the prior. If the study requests a
// standardisation, New runs the scale phase and uses the scale that it finds. At most workers
// goroutines compute at a time. Their number does not change any result.
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

// checkHolders returns an error if a holder has no records, unless the privacy unit is the
// record. With this unit it is private whether a holder has records, and a holder without
// records releases noise.
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

// Step runs the study until the next outcome, passes the outcome to all sites, and returns it.
// It returns nil at the end of the study.
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

// propose makes the participants of the plan answer, and posts the answers.
func (f *Federation) propose(plan *pvi.Plan) error {
	asked := make([]int, len(plan.Participants))
	m := 0
	for i, id := range plan.Participants {
		for f.Sites[m].ID() != id { // terminates because both lists are sorted
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

// Message returns the last release of site m. It is valid until the next Step.
func (f *Federation) Message(m int) *pvi.Release { return &f.mail[m] }

// forSites calls do for n sites. It uses several goroutines if the work is large enough.
func (f *Federation) forSites(n int, do func(i int) error) error {
	workers := f.workers
	solver := f.Protocol.Study().Inference.Solver
	statistics := solver == study.Conjugate || solver == study.ClippedAnalytical
	if statistics && n*f.Protocol.Family().Size() < 2000 {
		workers = 1
	}
	return forEach(workers, n, do)
}

// forProposals calls do for n sites that answer a plan. With devices all calls run concurrently,
// because each device computes the steps of its sites together.
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

// Run runs the study until it ends or ctx is done. It calls observe after every outcome except
// the outcome of the last round.
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
