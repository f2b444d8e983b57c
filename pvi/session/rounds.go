package session

import (
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

type roundsPhase struct{ *course }

func (p *roundsPhase) kinds() (plan, outcome Kind) { return Plan, Outcome }
func (p *roundsPhase) plans() int                  { return p.public.Plans() }
func (p *roundsPhase) section() int                { return roundsSection }

func (p *roundsPhase) elements() int { return max(p.public.Family().Size(), p.public.MessageSize()) }

// perNumber is the number of bytes for a number; an element of λ needs twice as many. With it,
// message sizes can be computed without encoding a message.
const perNumber = 8

func (p *roundsPhase) maxRelease(longest pvi.ClientID) int {
	return len(wire.AppendRelease(nil, &pvi.Release{Client: longest})) + perNumber*p.public.MessageSize()
}

func (p *roundsPhase) maxEntry() int {
	roster, family := p.public.Roster(), p.public.Family()
	return max(
		len(wire.AppendPlan(nil, &pvi.Plan{Participants: roster}))+perNumber*(2*family.Size()+family.Dim()),
		len(wire.AppendOutcome(nil, &pvi.Outcome{Participants: roster}))+perNumber*(family.Dim()+p.public.MessageSize()+p.public.ReleasesSize()),
	)
}

func (p *roundsPhase) newServer(s *Server) (serverPhase, error) {
	s.rounds = pvi.NewServer(p.protocol)
	return &roundsServer{roundsPhase: p, server: s}, nil
}

func (p *roundsPhase) newSite(s *Site) (sitePhase, error) {
	s.shard = shard.Design(p.protocol.Study(), s.records)
	var err error
	if s.rounds, err = p.protocol.NewSite(s.id, s.shard); err != nil {
		return nil, err
	}
	if s.device != nil {
		err = s.rounds.OnDevice(s.shard, *s.device)
	}
	return &roundsSite{roundsPhase: p, site: s}, err
}

func (p *roundsPhase) numbers(int) int { return p.public.MessageSize() }

func (p *roundsPhase) sumOf(body []byte) (Sum, error) {
	o, err := wire.ReadOutcome(body, p.limits)
	if err != nil {
		return Sum{}, err
	}
	return Sum{o.Participants, o.Sum, o.Releases}, nil
}

func (p *roundsPhase) vectorOf(release []byte) ([]int64, error) {
	r, err := wire.ReadRelease(release, p.limits)
	if err != nil {
		return nil, err
	}
	return r.Change, nil
}

func (p *roundsPhase) fetched(int) bool { return p.public.Fetched() }
func (p *roundsPhase) limit(int) int64  { return p.present().Method().Messages().Limit() }

type roundsServer struct {
	*roundsPhase
	server   *Server // the rounds' state machine is in its field rounds
	verdicts history
}

func (s *roundsServer) next() (number int, body []byte, ok bool) {
	plan, ok := s.server.rounds.Next()
	if !ok {
		return 0, nil, false
	}
	return plan.Number, wire.AppendPlan(nil, &plan), true
}

func (s *roundsServer) collect(client pvi.ClientID, number int, release []byte) ([]byte, error) {
	s.watch()
	r, err := wire.ReadRelease(release, s.limits)
	if err != nil {
		return nil, err
	}
	if err := checkSender(client, r.Client, number, r.Number); err != nil {
		return nil, err
	}
	return s.ended(s.server.rounds.Collect(r))
}

func (s *roundsServer) collectSum(number int, sum Sum) ([]byte, error) {
	return s.ended(s.server.rounds.Replay(&pvi.Outcome{Number: number, Participants: sum.Participants, Sum: sum.Elements}))
}

// watch makes the server compute influences if [Server.Watch] has been called.
func (s *roundsServer) watch() {
	if s.server.watching {
		s.server.rounds.Watch()
	}
}

func (s *roundsServer) close(number int) ([]byte, error) {
	s.watch()
	return s.ended(s.server.rounds.Close(number))
}

func (s *roundsServer) ended(o *pvi.Outcome, err error) ([]byte, error) {
	if err != nil || o == nil {
		return nil, err
	}
	s.verdicts.count(o)
	s.server.last = &Round{Verdict: o.Verdict, Influences: s.server.rounds.Influences(), SDs: "q"}
	if s.study.Points() {
		s.server.last.SDs = "the prior"
	}
	if o.Verdict == pvi.Void && s.study.Inference.Schedule == study.Synchronous {
		s.server.last.Missing = slices.DeleteFunc(slices.Clone(s.public.Roster()), func(id pvi.ClientID) bool {
			return slices.Contains(o.Participants, id)
		})
	}
	return wire.AppendOutcome(nil, o), nil
}

func (s *roundsServer) replay(number int, body []byte) ([]pvi.ClientID, []byte, error) {
	o, err := wire.ReadOutcome(body, s.limits)
	if err != nil {
		return nil, nil, err
	}
	if o.Number != number {
		return nil, nil, misnumbered(number)
	}
	s.watch()
	again, err := s.ended(s.server.rounds.Replay(o))
	return o.Participants, again, err
}

func (s *roundsServer) waiting(number int) []pvi.ClientID { return s.server.rounds.WaitingFor(number) }
func (s *roundsServer) fewest() int                       { return s.protocol.Fewest() }
func (s *roundsServer) outcomes() int                     { return s.server.rounds.Outcomes() }
func (s *roundsServer) model() [32]byte                   { return modelOfLambda(s.digest, s.server.rounds.Lambda()) }

func (s *roundsServer) report(r *Result) error {
	r.count(s.verdicts.tally)
	r.remark(s.server.rounds.Remarks())
	return nil
}

func (s *roundsServer) keep(k *kept)                { s.verdicts.keep(k) }
func (s *roundsServer) history() *history           { return &s.verdicts }
func (s *roundsServer) save() (pvi.Encoding, error) { return s.server.rounds.Encode() }

func (s *roundsServer) restore(state []byte, k *kept) (err error) {
	s.verdicts.take(k)
	s.server.rounds, err = pvi.RestoreServer(s.protocol, state)
	return err
}

type roundsSite struct {
	*roundsPhase
	site     *Site // its field rounds contains the rounds' state machine
	verdicts history
}

func (s *roundsSite) foretell(number int) ([]byte, bool) {
	plan, ok := s.site.rounds.Foretell(number)
	if !ok {
		return nil, false
	}
	return wire.AppendPlan(nil, &plan), true
}

func (s *roundsSite) foretellOutcome(number int, sum Sum) []byte {
	o := s.site.rounds.ForetellOutcome(number, sum.Participants, sum.Elements)
	return wire.AppendOutcome(nil, &o)
}

func (s *roundsSite) check(number int, body []byte) (named bool, err error) {
	plan, err := wire.ReadPlan(body, s.limits)
	if err != nil {
		return false, err
	}
	if plan.Number != number {
		return false, misnumbered(number)
	}
	if plan.Protocol != pvi.Digest(s.digest) {
		return false, refuse("the plan is for protocol %.16s, this is %.16s", plan.Protocol, pvi.Digest(s.digest))
	}
	if _, named = slices.BinarySearch(plan.Participants, s.site.id); !named {
		return false, nil
	}
	if s.site.pending != nil {
		return false, refuse("a plan names client %q before plan %d has an outcome", s.site.id, s.site.pending.Plan)
	}
	return true, s.site.rounds.Check(plan)
}

func (s *roundsSite) quote() (Spent, error) {
	before := s.site.rounds.Releases()
	return s.costOfRounds(before, before+s.site.rounds.Ahead())
}

func (s *roundsSite) answer(a *Answer, body []byte, src *dpmech.Stream) error {
	plan, err := wire.ReadPlan(body, s.limits)
	if err != nil {
		return err
	}
	a.Model = modelOfLambda(plan.Protocol, plan.Lambda)
	var r pvi.Release
	before := s.site.rounds.Releases()
	if err := s.site.rounds.Propose(&r, plan, src); err != nil {
		if spent, failed := s.costOfRounds(before, s.site.rounds.Releases()); failed == nil {
			a.Spent = spent
		}
		return err
	}
	if a.Vector = r.Change; !s.secure() {
		a.Release, a.Vector = wire.AppendRelease(nil, &r), nil
	}
	return nil
}

func (s *roundsSite) model(body []byte) (model [32]byte) {
	if plan, err := wire.ReadPlan(body, s.limits); err == nil {
		model = modelOfLambda(plan.Protocol, plan.Lambda)
	}
	return model
}

func (s *roundsSite) checkQueued(number int, body []byte, waiting int) error {
	o, err := wire.ReadOutcome(body, s.limits)
	if err != nil {
		return err
	}
	switch next := s.outcomes() + waiting + 1; {
	case o.Protocol != pvi.Digest(s.digest):
		return refuse("the outcome is for protocol %.16s, this is %.16s", o.Protocol, pvi.Digest(s.digest))
	case o.Sequence != next:
		return refuse("outcome %d came where outcome %d was next", o.Sequence, next)
	case o.Number != number:
		return misnumbered(o.Number)
	}
	return nil
}

func (s *roundsSite) settle(number int, body []byte) error {
	o, err := wire.ReadOutcome(body, s.limits)
	if err != nil {
		return err
	}
	if o.Number != number {
		return misnumbered(number)
	}
	if err := s.site.rounds.Settle(o); err != nil {
		return err
	}
	s.verdicts.count(o)
	return nil
}

func (s *roundsSite) releases() int { return s.site.rounds.Releases() }
func (s *roundsSite) outcomes() int { return s.site.rounds.Outcomes() }

func (s *roundsSite) report(r *Result) error {
	r.count(s.verdicts.tally)
	r.remark(s.site.rounds.Remarks())
	return nil
}

func (s *roundsSite) keep(k *kept)                { s.verdicts.keep(k) }
func (s *roundsSite) history() *history           { return &s.verdicts }
func (s *roundsSite) save() (pvi.Encoding, error) { return saved(s.site.rounds) }

func (s *roundsSite) restore(state []byte, k *kept) error {
	s.verdicts.take(k)
	return s.site.rounds.Restore(state)
}
