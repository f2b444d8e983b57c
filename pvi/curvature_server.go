package pvi

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/onestep"
)

// A CurvatureServer adds up what clients release in the last round. It is driven like
// [Server]: Next, Collect or Close, and the outcome says what the posterior is.
type CurvatureServer struct {
	protocol *Protocol
	digest   Digest
	point    []float64

	planned  bool
	open     bool
	answered []ClientID // in order
	gradient []int64
	bend     []int64
}

// NewCurvatureServer returns the server of the last round of a study all of whose
// rounds have an outcome.
func NewCurvatureServer(s *Server) (*CurvatureServer, error) {
	p := s.protocol
	if p.curvature == nil {
		return nil, errors.New("the study asks for no last round: inference.noise_aware is not \"one-step\"")
	}
	if !s.Done() {
		return nil, errors.New("the last round comes after all others, some of which have no outcome yet")
	}
	return &CurvatureServer{
		protocol: p, digest: curvatureDigest(p, s.q.lambda), point: slices.Clone(s.q.mean),
		gradient: make([]int64, p.curvature.Gradient.Dim()), bend: make([]int64, p.curvature.Curvature.Dim()),
	}, nil
}

// Next returns the plan, and false if it was returned before.
func (s *CurvatureServer) Next() (CurvaturePlan, bool) {
	if s.planned {
		return CurvaturePlan{}, false
	}
	s.planned, s.open = true, true
	return CurvaturePlan{s.digest, s.point}, true
}

// Collect adds a release to the round, and returns the outcome if it was the last one
// missing. A release that is out of place is [Refused] and changes nothing.
func (s *CurvatureServer) Collect(r *CurvatureRelease) (*CurvatureOutcome, error) {
	p := s.protocol
	if r.Round != s.digest {
		return nil, refuse("the release is for last round %.16s, this is %.16s", r.Round, s.digest)
	}
	if !s.open {
		return nil, refuse("the last round is not open")
	}
	if _, ok := p.clientIndex(r.Client); !ok {
		return nil, refuse("client %q is not in the roster", r.Client)
	}
	at, answered := slices.BinarySearch(s.answered, r.Client)
	if answered {
		return nil, refuse("client %q has answered the last round", r.Client)
	}
	if err := p.checkCurvature(r.Gradient, r.Curvature, 1); err != nil {
		return nil, err
	}
	for i, n := range r.Gradient {
		s.gradient[i] += n
	}
	for i, n := range r.Curvature {
		s.bend[i] += n
	}
	s.answered = slices.Insert(s.answered, at, r.Client)
	if len(s.answered) < len(p.roster) {
		return nil, nil
	}
	return s.finish(), nil
}

// Close ends the round with the answers that have come. With fewer than U_min it is
// void: nothing is opened.
func (s *CurvatureServer) Close() (*CurvatureOutcome, error) {
	if !s.open {
		return nil, refuse("the last round is not open")
	}
	return s.finish(), nil
}

func (s *CurvatureServer) finish() *CurvatureOutcome {
	s.open = false
	o := &CurvatureOutcome{Round: s.digest, Verdict: Void, Point: s.point, Participants: s.answered}
	if len(s.answered) >= s.protocol.minClients {
		o.Verdict, o.Gradient, o.Curvature = Accepted, s.gradient, s.bend
	}
	return o
}

// Waiting returns the clients whose answer is missing, in order.
func (s *CurvatureServer) Waiting() []ClientID {
	var waiting []ClientID
	if !s.open {
		return nil
	}
	for _, id := range s.protocol.roster {
		if _, ok := slices.BinarySearch(s.answered, id); !ok {
			waiting = append(waiting, id)
		}
	}
	return waiting
}

// OneStep returns mean and covariance of the one-step posterior of an outcome. It is a
// function of what was opened, and of public numbers.
// It is for reports: the records are in q too, so that a factor made of it would count
// them twice.
func (p *Protocol) OneStep(o *CurvatureOutcome) (mean []float64, cov *mat.SymDense, err error) {
	if o.Verdict != Accepted {
		return nil, nil, errors.New("the last round was void: too few clients answered")
	}
	if err := p.checkCurvature(o.Gradient, o.Curvature, len(o.Participants)); err != nil {
		return nil, nil, err
	}
	e := &onestep.Evidence{Point: o.Point}
	c := p.curvature
	e.GradientSD, e.CurvatureSD = p.CurvatureNoise(len(o.Participants))
	for _, n := range o.Gradient {
		e.Gradient = append(e.Gradient, c.Gradient.Lattice().Float(n))
	}
	for _, n := range o.Curvature {
		e.Curvature = append(e.Curvature, c.Curvature.Lattice().Float(n))
	}
	for _, parameter := range p.model.Parameters {
		e.PriorMean = append(e.PriorMean, parameter.Prior.Mean)
		e.PriorPrecision = append(e.PriorPrecision, 1/(parameter.Prior.SD*parameter.Prior.SD))
	}
	return e.Posterior(o.key())
}

// CurvatureNoise returns the sd of the noise on every element of the sums of the last
// round's gradients and curvatures, with so many answers. The study must have one.
func (p *Protocol) CurvatureNoise(answers int) (gradient, curvature float64) {
	c, root := p.curvature, math.Sqrt(float64(answers))
	return c.Gradient.Lattice().Float(c.Gradient.ShareSigma()) * root, c.Curvature.Lattice().Float(c.Curvature.ShareSigma()) * root
}

// key is what the outcome's public random numbers follow from.
func (o *CurvatureOutcome) key() [32]byte {
	h := sha256.New()
	io.WriteString(h, "fedpvi/one-step/v1")
	h.Write(o.Round[:])
	for _, sum := range [][]int64{o.Gradient, o.Curvature} {
		for _, n := range sum {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
		}
	}
	return [32]byte(h.Sum(nil))
}

// ClosedFormNoise returns τ, the sd of the noise of all clients on the sum of clipped
// gradients, averaged over the steps whose average clients propose. The solver must be
// DPSVI.
func (p *Protocol) ClosedFormNoise() float64 {
	steps := p.descent.Steps
	if p.Summed() {
		steps = p.descent.Total
	}
	window := max(p.study.Inference.Descent.Average, 1/float64(steps))
	return p.AveragedNoise() * math.Sqrt(float64(len(p.roster))/window)
}

// ClosedForm returns mean and covariance of q, given by its natural parameters, with
// what the noise of private gradient steps adds, from nothing but its size. The solver
// must be DPSVI.
func (p *Protocol) ClosedForm(natural []float64) (mean []float64, cov *mat.SymDense, err error) {
	mean, cov, err = p.family.Moments(natural)
	if err != nil {
		return nil, nil, err
	}
	tau := p.ClosedFormNoise()
	for i := range mean {
		cov.SetSym(i, i, onestep.Closed(1/cov.At(i, i), tau))
	}
	return mean, cov, nil
}
