package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// A Posterior is the result of a study, with the marginals of its parameters.
type Posterior struct {
	Result    *session.Result `json:"result"`
	Marginals []Marginal      `json:"marginals"`
}

// A Marginal is the posterior of one parameter.
type Marginal struct {
	Name string `json:"name"`
	Log  bool   `json:"log"` // the parameter's logarithm, not the parameter, has a normal posterior
	Interval
	// NoiseAware includes the uncertainty from the privacy noise; nil if the study has no noise-aware posterior.
	NoiseAware *Interval `json:"noise_aware,omitempty"`
	// NoiseSD is the part of the coordinate's noise-aware standard deviation that comes from the noise; it is
	// nil if the noise-aware standard deviation is below SD.
	NoiseSD *float64 `json:"noise_sd,omitempty"`
}

// An Interval is the central 90 % interval of a parameter. Mean and SD are those of its normal coordinate: the
// parameter or, where Log is true, its logarithm.
type Interval struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"q5"`  // of the parameter itself
	Upper float64 `json:"q95"` // of the parameter itself
}

// normal90 is the 95 % quantile of the standard normal distribution. The interval from −normal90 to normal90
// contains the central 90 %.
const normal90 = 1.6448536269514722

// Posterior returns the posterior of a study that ended. It returns an error for a study that was aborted or is
// not over.
func (s *Study) Posterior(ctx context.Context) (*Posterior, error) {
	err := s.call(ctx, func(b *batch) error {
		switch b.state.phase() {
		case Ended:
			return nil
		case Aborted:
			return fmt.Errorf("study %s was aborted: there is no posterior", s.Name())
		}
		return fmt.Errorf("study %s is not over: coordinator status lists the clients that it is waiting for", s.Name())
	})
	if err != nil {
		return nil, err
	}
	var closing transcript.Closing
	err = s.look(func(kept store.Study) (err error) {
		_, body, err := kept.Item(kept.Items())
		if err != nil {
			return err
		}
		closing, err = transcript.ParseClosing(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	var r session.Result
	if err := json.Unmarshal(closing.Result, &r); err != nil {
		return nil, err
	}
	return Describe(s.document, &r)
}

// Describe adds the names and 90 % intervals of the parameters to the result of a study.
func Describe(st *study.Study, r *session.Result) (*Posterior, error) {
	if !st.HasScale() {
		var err error
		if st, err = st.WithScale(st.PublicScale()); err != nil { // names and kinds are the same
			return nil, err
		}
	}
	m, err := fit.New(st)
	if err != nil {
		return nil, err
	}
	if m.Dim() != len(r.Mean) || len(r.SD) != len(r.Mean) {
		return nil, fmt.Errorf("the result has %d parameters, but study %s has %d: another version of this program wrote it", len(r.Mean), st.Name, m.Dim())
	}
	p := &Posterior{Result: r, Marginals: make([]Marginal, 0, m.Dim())}
	for i, parameter := range m.Parameters.All() {
		out := Marginal{Name: parameter.Name, Log: parameter.Log, Interval: interval(parameter, r.Mean[i], r.SD[i])}
		if a := r.NoiseAware; a != nil {
			aware := interval(parameter, a.Mean[i], a.SD[i])
			out.NoiseAware = &aware
			if more := a.SD[i]*a.SD[i] - r.SD[i]*r.SD[i]; more >= 0 {
				noise := math.Sqrt(more)
				out.NoiseSD = &noise
			}
		}
		p.Marginals = append(p.Marginals, out)
	}
	return p, nil
}

func interval(p fit.Parameter, mean, sd float64) Interval {
	return Interval{mean, sd, p.Back(mean - normal90*sd), p.Back(mean + normal90*sd)}
}

// Playable returns an error for a study that no coordinator can run, whichever clients join.
func Playable(st *study.Study) error {
	_, err := largestBody(st)
	return err
}
