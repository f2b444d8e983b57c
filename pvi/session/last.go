package session

import (
	"fmt"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// lastPhase is the phase of the last round, from which the one-step posterior is computed.
type lastPhase struct {
	*course
	// last round under the public bounds, which is used for sizes only; the actual round may have
	// different noise
	sizes *lastround.Round
}

func (p *lastPhase) kinds() (plan, outcome Kind) { return OneStepPlan, OneStepOutcome }
func (p *lastPhase) plans() int                  { return 1 }
func (p *lastPhase) section() int                { return lastSection }

func (p *lastPhase) elements() int {
	return max(p.public.Family().Dim(), p.sizes.Gradient.Dim(), p.sizes.Curvature.Dim())
}

func (p *lastPhase) maxRelease(longest pvi.ClientID) int {
	gradient, curvature := p.sums()
	return len(wire.AppendOneStepRelease(nil, &lastround.Release{Client: longest, Gradient: gradient, Curvature: curvature}))
}

func (p *lastPhase) maxEntry() int {
	gradient, curvature := p.sums()
	return len(wire.AppendOneStepOutcome(nil, &lastround.Outcome{
		Point: make([]float64, p.public.Family().Dim()), Participants: p.public.Roster(), Gradient: gradient, Curvature: curvature,
		Releases: make([]int64, p.sizes.ReleasesSize()),
	}))
}

func (p *lastPhase) numbers(int) int { return p.sizes.Size() }

func (p *lastPhase) sumOf(body []byte) (Sum, error) {
	o, err := wire.ReadOneStepOutcome(body, p.limits)
	if err != nil {
		return Sum{}, err
	}
	if o.Gradient == nil {
		return Sum{Participants: o.Participants}, nil
	}
	return Sum{o.Participants, slices.Concat(o.Gradient, o.Curvature), o.Releases}, nil
}

func (p *lastPhase) vectorOf(release []byte) ([]int64, error) {
	r, err := wire.ReadOneStepRelease(release, p.limits)
	if err != nil {
		return nil, err
	}
	return slices.Concat(r.Gradient, r.Curvature), nil
}

func (p *lastPhase) fetched(int) bool { return p.sizes.Fetched() }
func (p *lastPhase) limit(int) int64  { return p.present().After()[0].Limit() }

func (p *lastPhase) sums() (gradient, curvature []int64) {
	return make([]int64, p.sizes.Gradient.Dim()), make([]int64, p.sizes.Curvature.Dim())
}

func (p *lastPhase) newServer(s *Server) (serverPhase, error) {
	server, err := s.rounds.LastRound()
	return &lastServer{Server: server, ending: p.ending()}, err
}

func (p *lastPhase) newSite(s *Site) (sitePhase, error) {
	site, err := s.rounds.LastRound(s.shard)
	return &lastSite{Site: site, ending: p.ending()}, err
}

func (p *lastPhase) ending() ending { return ending{lastPhase: p, round: p.protocol.After()[0]} }

// An ending is the outcome that servers and sites compute the one-step posterior from.
type ending struct {
	*lastPhase
	round   *lastround.Round   // last round on the final scale
	outcome *lastround.Outcome // nil until the last round has ended
}

func (e *ending) outcomes() int {
	if e.outcome == nil {
		return 0
	}
	return 1
}

func (e *ending) report(r *Result) error {
	if e.outcome.Verdict != pvi.Accepted {
		r.Notes = append(r.Notes, "The last round had too few answers: there is no noise-aware posterior.")
		return nil
	}
	mean, cov, err := e.round.Posterior(e.outcome, e.protocol.Method().(method.Stepped).ClosedFormNoise())
	if err != nil {
		return fmt.Errorf("noise-aware posterior: %w", err)
	}
	r.NoiseAware = newNoiseAware(study.OneStep, mean, cov)
	r.NoiseAware.GradientNoise, r.NoiseAware.CurvatureNoise = e.round.Noise(len(e.outcome.Participants))
	return nil
}

func (e *ending) keep(k *kept) {
	if e.outcome != nil {
		k.Ending = wire.AppendOneStepOutcome(nil, e.outcome)
	}
}

func (e *ending) take(k *kept) (err error) {
	if k.Ending != nil {
		e.outcome, err = wire.ReadOneStepOutcome(k.Ending, e.limits)
		k.Ending = nil
	}
	return err
}

type lastServer struct {
	*lastround.Server
	ending
}

func (s *lastServer) next() (number int, body []byte, ok bool) {
	plan, ok := s.Next()
	if !ok {
		return 0, nil, false
	}
	return 1, wire.AppendOneStepPlan(nil, &plan), true
}

func (s *lastServer) collect(client pvi.ClientID, _ int, release []byte) ([]byte, error) {
	r, err := wire.ReadOneStepRelease(release, s.limits)
	if err != nil {
		return nil, err
	}
	if err := checkSender(client, r.Client, 1, 1); err != nil {
		return nil, err
	}
	return s.ended(s.Collect(r))
}

func (s *lastServer) collectSum(_ int, sum Sum) ([]byte, error) {
	gradient, curvature := sum.Elements[:s.sizes.Gradient.Dim()], sum.Elements[s.sizes.Gradient.Dim():]
	return s.ended(s.Replay(&lastround.Outcome{Participants: sum.Participants, Gradient: gradient, Curvature: curvature}))
}

func (s *lastServer) close(int) ([]byte, error) { return s.ended(s.Close()) }

func (s *lastServer) ended(o *lastround.Outcome, err error) ([]byte, error) {
	if err != nil || o == nil {
		return nil, err
	}
	s.outcome = o
	return wire.AppendOneStepOutcome(nil, o), nil
}

func (s *lastServer) replay(_ int, body []byte) ([]pvi.ClientID, []byte, error) {
	o, err := wire.ReadOneStepOutcome(body, s.limits)
	if err != nil {
		return nil, nil, err
	}
	again, err := s.ended(s.Replay(o))
	return o.Participants, again, err
}

func (s *lastServer) waiting(int) []pvi.ClientID { return s.Waiting() }
func (s *lastServer) fewest() int                { return s.public.MinClients() }
func (s *lastServer) model() [32]byte            { return modelOfPoint(s.digest, s.Point()) }

func (s *lastServer) save() (pvi.Encoding, error) { return saved(s.Server) }

func (s *lastServer) restore(state []byte, k *kept) error {
	if err := s.Restore(state); err != nil {
		return err
	}
	return s.take(k)
}

type lastSite struct {
	*lastround.Site
	ending
}

func (s *lastSite) foretell(int) ([]byte, bool) {
	plan := s.Foretell()
	return wire.AppendOneStepPlan(nil, &plan), true
}

func (s *lastSite) foretellOutcome(_ int, sum Sum) []byte {
	at := s.sizes.Gradient.Dim()
	o := s.ForetellOutcome(sum.Participants, sum.Elements[:at], sum.Elements[at:])
	return wire.AppendOneStepOutcome(nil, &o)
}

func (s *lastSite) check(_ int, body []byte) (named bool, err error) {
	plan, err := wire.ReadOneStepPlan(body, s.limits)
	if err != nil {
		return false, err
	}
	return true, s.Check(plan)
}

func (s *lastSite) quote() (Spent, error) {
	return s.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return s.round.EventFor(view.Shares, adjacency), nil
	})
}

func (s *lastSite) answer(a *Answer, body []byte, src *dpmech.Stream) error {
	plan, err := wire.ReadOneStepPlan(body, s.limits)
	if err != nil {
		return err
	}
	a.Model = modelOfPoint(s.digest, plan.Point)
	var r lastround.Release
	if err := s.Propose(&r, plan, src); err != nil {
		return err
	}
	if s.secure() {
		a.Vector = slices.Concat(r.Gradient, r.Curvature)
	} else {
		a.Release = wire.AppendOneStepRelease(nil, &r)
	}
	return nil
}

func (s *lastSite) model(body []byte) (model [32]byte) {
	if plan, err := wire.ReadOneStepPlan(body, s.limits); err == nil {
		model = modelOfPoint(s.digest, plan.Point)
	}
	return model
}

func (s *lastSite) checkQueued(int, []byte, int) error { return errOneAtATime }

func (s *lastSite) settle(_ int, body []byte) error {
	o, err := wire.ReadOneStepOutcome(body, s.limits)
	if err != nil {
		return err
	}
	if err := s.Settle(o); err != nil {
		return err
	}
	s.outcome = o
	return nil
}

func (s *lastSite) releases() int { return min(s.Releases(), 1) }

func (s *lastSite) save() (pvi.Encoding, error) { return saved(s.Site) }

func (s *lastSite) restore(state []byte, k *kept) error {
	if err := s.Restore(state); err != nil {
		return err
	}
	if err := s.take(k); err != nil || s.outcome == nil {
		return err
	}
	return s.Settle(s.outcome)
}
