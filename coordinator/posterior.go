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

// A Posterior is what came out of a study, and how to read it.
type Posterior struct {
	Result    *session.Result `json:"result"`
	Marginals []Marginal      `json:"marginals"`
}

// A Marginal is one parameter of a posterior.
type Marginal struct {
	Name string `json:"name"`
	Log  bool   `json:"log"` // the coordinate that is normal is the parameter's logarithm
	Interval
	// NoiseAware counts what the privacy noise adds; nil if the study does not say.
	NoiseAware *Interval `json:"noise_aware,omitempty"`
	// NoiseSD is the part of the noise-aware sd, of the coordinate, that is of the noise;
	// nil where that sd is not larger than the one that the records leave.
	NoiseSD *float64 `json:"noise_sd,omitempty"`
}

// An Interval is where a parameter is. Mean and SD are of its coordinate.
type Interval struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"q5"`  // of the parameter itself
	Upper float64 `json:"q95"` // of the parameter itself
}

// normal90 is the 95 % quantile of a standard normal: with its negative it holds 90 %.
const normal90 = 1.6448536269514722

// Posterior returns what came out of a study that was played to its end.
func (s *Study) Posterior(ctx context.Context) (*Posterior, error) {
	err := s.call(ctx, func(b *batch) error {
		switch b.state.phase() {
		case Ended:
			return nil
		case Aborted:
			return fmt.Errorf("study %s was aborted: there is no posterior", s.Name())
		}
		return fmt.Errorf("study %s is not over: coordinator status says for whom it waits", s.Name())
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

// Describe says how the result of a study is to be read.
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
		return nil, fmt.Errorf("the result has %d parameters, and study %s has %d: it is of another version of this program", len(r.Mean), st.Name, m.Dim())
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

// Playable returns why no coordinator can play a study, with whichever clients.
func Playable(st *study.Study) error {
	_, err := largestBody(st)
	return err
}
