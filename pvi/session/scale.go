package session

import (
	"errors"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

type scalePhase struct {
	*course
	scaling *scale.Scaling
}

func (c *course) addScale(roster []pvi.ClientID) (*study.Study, error) {
	scaling, err := scale.New(c.study, roster)
	if err != nil {
		return nil, err
	}
	c.phases, c.digest = append(c.phases, &scalePhase{c, scaling}), scaling.Digest()
	return c.study.WithScale(c.study.PublicScale())
}

// found makes the protocol of the rounds, using the bounds that the scale phase found.
func (c *course) found(scaled *study.Study, err error) error {
	if err != nil {
		return err
	}
	p, err := pvi.NewProtocol(scaled, c.public.Roster())
	if err != nil {
		return err
	}
	c.begin(p)
	return nil
}

func (p *scalePhase) kinds() (plan, outcome Kind) { return ScalePlan, ScaleOutcome }
func (p *scalePhase) plans() int                  { return p.scaling.Passes() }
func (p *scalePhase) section() int                { return scaleSection }

func (p *scalePhase) elements() int { return max(p.scaling.Size(1), p.scaling.Size(p.plans())) }

func (p *scalePhase) maxRelease(longest pvi.ClientID) int {
	return len(wire.AppendScaleRelease(nil, &scale.Release{Client: longest, Sum: make([]int64, p.elements())}))
}

func (p *scalePhase) maxEntry() int {
	releases := make([]int64, max(p.scaling.ReleasesSize(1), p.scaling.ReleasesSize(p.scaling.Passes())))
	return max(
		len(wire.AppendScalePlan(nil, &scale.Plan{Bounds: p.study.PublicScale()})),
		len(wire.AppendScaleOutcome(nil, &scale.Outcome{Participants: p.public.Roster(), Sum: make([]int64, p.elements()), Releases: releases})),
	)
}

func (p *scalePhase) numbers(number int) int { return p.scaling.Size(number) }

func (p *scalePhase) sumOf(body []byte) (Sum, error) {
	o, err := wire.ReadScaleOutcome(body, p.limits)
	if err != nil {
		return Sum{}, err
	}
	return Sum{o.Participants, o.Sum, o.Releases}, nil
}

func (p *scalePhase) vectorOf(release []byte) ([]int64, error) {
	r, err := wire.ReadScaleRelease(release, p.limits)
	if err != nil {
		return nil, err
	}
	return r.Sum, nil
}

func (p *scalePhase) fetched(number int) bool { return p.scaling.Fetched(number) }
func (p *scalePhase) limit(number int) int64  { return p.scaling.Limit(number) }

func (p *scalePhase) newServer(*Server) (serverPhase, error) {
	return &scaleServer{p, scale.NewServer(p.scaling)}, nil
}

func (p *scalePhase) newSite(s *Site) (sitePhase, error) {
	site, err := scale.NewSite(p.scaling, s.id, s.records)
	return &scaleSite{p, site}, err
}

type scaleServer struct {
	*scalePhase
	*scale.Server
}

func (s *scaleServer) next() (number int, body []byte, ok bool) {
	plan, ok := s.Next()
	if !ok {
		return 0, nil, false
	}
	return plan.Number, wire.AppendScalePlan(nil, &plan), true
}

func (s *scaleServer) collect(client pvi.ClientID, number int, release []byte) ([]byte, error) {
	r, err := wire.ReadScaleRelease(release, s.limits)
	if err != nil {
		return nil, err
	}
	if err := checkSender(client, r.Client, number, r.Number); err != nil {
		return nil, err
	}
	return s.ended(s.Collect(r))
}

func (s *scaleServer) collectSum(number int, sum Sum) ([]byte, error) {
	return s.ended(s.Replay(&scale.Outcome{Number: number, Participants: sum.Participants, Sum: sum.Elements}))
}

func (s *scaleServer) close(int) ([]byte, error) { return s.ended(s.Close()) }

// ended encodes an outcome. It returns nil if the plan is still open. After the last outcome, the
// rounds begin.
func (s *scaleServer) ended(o *scale.Outcome, err error) ([]byte, error) {
	if err != nil || o == nil {
		return nil, err
	}
	if s.Done() {
		err = s.found(s.Scaled())
	}
	return wire.AppendScaleOutcome(nil, o), err
}

func (s *scaleServer) replay(number int, body []byte) ([]pvi.ClientID, []byte, error) {
	o, err := wire.ReadScaleOutcome(body, s.limits)
	if err != nil {
		return nil, nil, err
	}
	if o.Number != number {
		return nil, nil, misnumbered(number)
	}
	again, err := s.ended(s.Replay(o))
	return o.Participants, again, err
}

func (s *scaleServer) waiting(int) []pvi.ClientID { return s.Waiting() }
func (s *scaleServer) fewest() int                { return s.public.MinClients() }
func (s *scaleServer) outcomes() int              { return s.Outcomes() }

func (s *scaleServer) model() [32]byte {
	bounds := make([]study.Bounds, 0, len(s.Columns()))
	for _, c := range s.Columns() {
		bounds = append(bounds, c.Bounds)
	}
	return modelOfScale(s.digest, bounds)
}

func (s *scaleServer) report(r *Result) error {
	r.Scale = slices.Clone(s.Columns())
	return nil
}

func (s *scaleServer) keep(*kept)                  {}
func (s *scaleServer) save() (pvi.Encoding, error) { return saved(s.Server) }

func (s *scaleServer) restore(state []byte, _ *kept) (err error) {
	if s.Server, err = scale.RestoreServer(s.scaling, state); err == nil && s.Done() {
		err = s.found(s.Scaled())
	}
	return err
}

type scaleSite struct {
	*scalePhase
	*scale.Site
}

func (s *scaleSite) foretell(int) ([]byte, bool) {
	plan := s.Foretell()
	return wire.AppendScalePlan(nil, &plan), true
}

func (s *scaleSite) foretellOutcome(_ int, sum Sum) []byte {
	o := s.ForetellOutcome(sum.Participants, sum.Elements)
	return wire.AppendScaleOutcome(nil, &o)
}

func (s *scaleSite) check(number int, body []byte) (named bool, err error) {
	plan, err := wire.ReadScalePlan(body, s.limits)
	if err != nil {
		return false, err
	}
	if plan.Number != number {
		return false, misnumbered(number)
	}
	return true, s.Check(plan)
}

// quote returns the cost of the next pass. When a client answers for the first time, it pays for
// all passes.
func (s *scaleSite) quote() (Spent, error) {
	if s.Passes() > 0 {
		return nil, nil
	}
	return s.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return s.scaling.EventFor(view.Shares, adjacency), nil
	})
}

func (s *scaleSite) answer(a *Answer, body []byte, src *dpmech.Stream) error {
	plan, err := wire.ReadScalePlan(body, s.limits)
	if err != nil {
		return err
	}
	a.Model = modelOfScale(plan.Scaling, plan.Bounds)
	var r scale.Release
	if err := s.Propose(&r, plan, src); err != nil {
		return err
	}
	if a.Vector = r.Sum; !s.secure() {
		a.Release, a.Vector = wire.AppendScaleRelease(nil, &r), nil
	}
	return nil
}

func (s *scaleSite) model(body []byte) (model [32]byte) {
	if plan, err := wire.ReadScalePlan(body, s.limits); err == nil {
		model = modelOfScale(plan.Scaling, plan.Bounds)
	}
	return model
}

func (s *scaleSite) checkQueued(int, []byte, int) error { return errOneAtATime }

var errOneAtATime = errors.New("an outcome was kept in a phase with one plan at a time")

func (s *scaleSite) settle(number int, body []byte) error {
	o, err := wire.ReadScaleOutcome(body, s.limits)
	if err != nil {
		return err
	}
	if o.Number != number {
		return misnumbered(number)
	}
	if err := s.Settle(o); err != nil || s.Followed() < s.plans() {
		return err
	}
	return s.found(s.Scaled())
}

func (s *scaleSite) releases() int { return s.Passes() }
func (s *scaleSite) outcomes() int { return s.Followed() }

func (s *scaleSite) report(r *Result) error {
	r.Scale = slices.Clone(s.Columns())
	return nil
}

func (s *scaleSite) keep(*kept)                  {}
func (s *scaleSite) save() (pvi.Encoding, error) { return saved(s.Site) }

func (s *scaleSite) restore(state []byte, _ *kept) error {
	if err := s.Restore(state); err != nil || s.Followed() < s.plans() {
		return err
	}
	return s.found(s.Scaled())
}
