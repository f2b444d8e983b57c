package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/method"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
)

// A Result holds the numbers that a study has found, and their privacy costs. The server and each
// site compute it for themselves. Equal numbers give the same JSON bytes.
type Result struct {
	Version  int            `json:"version"`
	Study    string         `json:"study"`
	Digest   string         `json:"digest"`   // SHA-256 of the study document
	Protocol string         `json:"protocol"` // digest of the protocol of the rounds
	Clients  []pvi.ClientID `json:"clients"`

	Outcomes int `json:"outcomes"` // number of outcomes of the rounds
	tally

	Family     string      `json:"family"`               // family of q: "full" or "diagonal"
	Names      []string    `json:"names"`                // names of the coordinates of θ
	Natural    []float64   `json:"natural,omitempty"`    // natural parameters of q; [Describe] may omit them
	Mean       []float64   `json:"mean"`                 // mean of θ, on the model's scale
	SD         []float64   `json:"sd,omitempty"`         // standard deviations of θ; absent for point estimates
	Covariance [][]float64 `json:"covariance,omitempty"` // covariance of θ, row by row; absent for point estimates or if q is diagonal

	NoiseAware *NoiseAware    `json:"noise_aware,omitempty"`
	Scale      []scale.Column `json:"scale,omitempty"` // scale of the columns, as found by the scale phase
	Costs      []Cost         `json:"costs,omitempty"` // costs of the whole study for one client
	Notes      []string       `json:"notes,omitempty"`
	Arrived    *bool          `json:"arrived,omitempty"` // see [method.Remarks]; nil if the method does not check convergence

	Tables  *describe.Summary `json:"tables,omitempty"`   // tables that describe the records
	HeldOut *describe.Scored  `json:"held_out,omitempty"` // scores of held-out records
}

// remark adds the method's remarks to the result, if there are any.
func (r *Result) remark(remarks *method.Remarks) {
	if remarks != nil {
		r.Notes, r.Arrived = append(r.Notes, remarks.Sentences...), &remarks.Arrived
		r.Tables, r.HeldOut = remarks.Tables, remarks.HeldOut
	}
}

// A NoiseAware is a posterior whose standard deviations include the privacy noise.
type NoiseAware struct {
	Method     string      `json:"method"` // method: "one-step" or "closed-form"
	Mean       []float64   `json:"mean"`
	SD         []float64   `json:"sd"`
	Covariance [][]float64 `json:"covariance"`

	// GradientNoise and CurvatureNoise are the standard deviations of the noise of all clients
	// together, in an element of the sum of gradients and of the sum of curvatures.
	GradientNoise  float64 `json:"gradient_noise_sd"`
	CurvatureNoise float64 `json:"curvature_noise_sd,omitempty"`
}

// A Cost is the privacy cost of all of a client's releases, for one observer and one adjacency.
type Cost struct {
	View      string               `json:"view"`
	Who       string               `json:"who"`
	Adjacency accountant.Adjacency `json:"adjacency"`
	Epsilon   float64              `json:"epsilon"` // ε at Delta
	Delta     float64              `json:"delta"`
	Mu        float64              `json:"mu,omitempty"` // μ of Gaussian differential privacy, or 0 if it does not apply
	Method    string               `json:"method"`
}

// A tally counts the outcomes of the rounds by verdict.
type tally struct {
	Accepted int `json:"accepted"` // number of outcomes that moved λ
	Rejected int `json:"rejected"` // number of outcomes after which λ would have been improper
	Void     int `json:"void"`     // number of outcomes with too few answers
}

func (t *tally) count(v pvi.Verdict) {
	switch v {
	case pvi.Accepted:
		t.Accepted++
	case pvi.Rejected:
		t.Rejected++
	case pvi.Void:
		t.Void++
	}
}

// Bytes returns the result as JSON. Equal results have equal bytes.
func (r *Result) Bytes() ([]byte, error) { return json.Marshal(r) }

var errNotDone = errors.New("the study is not done: some plans have no outcome yet")

// Result returns the result of the study, all of whose plans must have outcomes.
func (s *Server) Result() (*Result, error) {
	if !s.Done() {
		return nil, errNotDone
	}
	return s.result(s.rounds.Posterior())
}

func (run *run[P]) result(natural []float64) (*Result, error) {
	c := run.course
	p := c.protocol
	r, err := run.frame()
	if err != nil {
		return nil, err
	}
	r.Natural = slices.Clone(natural)
	if r.Mean, r.SD, err = p.Family().Marginals(natural); err != nil {
		return nil, err
	}
	roots(r.SD)
	for _, parameter := range p.Model().Parameters.All() {
		r.Names = append(r.Names, parameter.Name)
	}
	if c.study.Inference.Q != "diagonal" {
		_, cov, err := p.Family().Moments(natural)
		if err != nil {
			return nil, err
		}
		r.Covariance = rows(cov)
	}
	if p.Study().Inference.NoiseAware == study.ClosedForm {
		mean, cov, err := p.ClosedForm(natural)
		if err != nil {
			return nil, fmt.Errorf("noise-aware posterior: %w", err)
		}
		r.NoiseAware = newNoiseAware(study.ClosedForm, mean, cov)
		r.NoiseAware.GradientNoise = p.Method().(method.Stepped).ClosedFormNoise()
	}
	r.settle(c.study)
	r.note(c.study)
	return r, nil
}

// settle chooses the posterior that a result reports. From version 2 on, this is the noise-aware
// posterior or, if there is none, q. q has no standard deviations if the study reports point
// estimates, or if the one-step posterior could not be computed.
func (r *Result) settle(st *study.Study) {
	if st.Version == 1 {
		return
	}
	if a := r.NoiseAware; a != nil {
		r.Mean, r.SD, r.Covariance, r.NoiseAware = a.Mean, a.SD, a.Covariance, nil
	} else if st.Points() || st.Inference.NoiseAware == study.OneStep {
		r.SD, r.Covariance = nil, nil
	}
}

// frame returns a result in which the posterior and the first note are still missing.
func (run *run[P]) frame() (*Result, error) {
	c := run.course
	p := c.protocol
	r := &Result{
		Version: 1, Study: c.study.Name, Digest: c.study.Digest.String(), Protocol: p.Digest().String(),
		Clients: p.Roster(), Family: p.Family().Name(),
	}
	costs, err := p.Costs(p.Releases())
	if err != nil {
		return nil, err
	}
	for _, cost := range costs {
		if cost.View.Name == method.Participant && c.study.Version == 1 {
			continue // results of version 1 must keep their bytes
		}
		r.Costs = append(r.Costs, Cost{cost.View.Name, cost.View.Who, cost.Adjacency, cost.Epsilon, cost.Delta, cost.Mu, cost.Method})
	}
	for _, phase := range run.phases {
		if err := phase.report(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Result) count(verdicts tally) {
	r.Outcomes, r.tally = verdicts.Accepted+verdicts.Rejected+verdicts.Void, verdicts
}

func roots(variances []float64) {
	for i, variance := range variances {
		variances[i] = math.Sqrt(variance)
	}
}

func newNoiseAware(how study.NoiseAware, mean []float64, cov *mat.SymDense) *NoiseAware {
	return &NoiseAware{Method: string(how), Mean: mean, SD: sds(cov), Covariance: rows(cov)}
}

// note inserts a note before all others. It says that nothing was learned, that there are only
// point estimates, or whether the standard deviations include the privacy noise.
func (r *Result) note(st *study.Study) {
	switch {
	case r.Accepted == 0:
		r.Notes = slices.Insert(r.Notes, 0, "Nothing was learned: no outcome moved λ, and this is the prior.")
	case st.Model.Absent():
	case st.Points():
		r.Notes = slices.Insert(r.Notes, 0, study.PointsNote)
	case st.Version > 1 && st.Inference.NoiseAware == study.OneStep:
		if r.SD != nil {
			r.Notes = slices.Insert(r.Notes, 0, "The sds include the privacy noise, by one-step.")
		}
	case st.Inference.Solver == study.Scoring && st.Privacy.Unit == study.Client:
		r.Notes = slices.Insert(r.Notes, 0, "The sds include the privacy noise.")
	case st.Inference.Solver == study.Scoring:
		r.Notes = slices.Insert(r.Notes, 0, "The sds include the privacy noise and the possible bias of clipping.")
	case r.NoiseAware != nil:
		r.Notes = slices.Insert(r.Notes, 0, "The sds are the uncertainty that the records leave. The noise-aware sds also contain the privacy noise.")
	case st.Privacy.Unit != study.None:
		r.Notes = slices.Insert(r.Notes, 0, "The sds are the uncertainty that the records leave. They do not contain the privacy noise.")
	}
}

func sds(cov mat.Symmetric) []float64 {
	out := make([]float64, cov.SymmetricDim())
	for i := range out {
		out[i] = math.Sqrt(cov.At(i, i))
	}
	return out
}

func rows(m mat.Matrix) [][]float64 {
	n, _ := m.Dims()
	out := make([][]float64, n)
	for i := range out {
		out[i] = mat.Row(nil, i, m)
	}
	return out
}
