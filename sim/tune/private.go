package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// SelectionOptions defines the candidate settings of a [Selection].
type SelectionOptions struct {
	Study    string   // path of the study file
	Settings []string // settings key=value that replace values in the study
	Data     string   // file of records that replaces the study's records
	// each candidate's settings key=value, separated by spaces; if empty, candidates are drawn
	Candidates []string
	Draw       int // number of candidates to draw: the default settings, and Draw−1 random ones
	Score      Score
	Seed       uint64
	Workers    int
}

// scoreBudget is the part of μ² that the scores may spend, where μ belongs to the study's privacy
// target. asideShare is the share of its records that each client sets aside for the scores.
const (
	scoreBudget = 0.1
	asideShare  = 0.2
)

// A Selection compares candidate settings on the private records of a federation, and chooses one.
// The federation's messages are public, so every run and every score is a release. All releases
// together must meet the study's privacy target, so each run has more noise than a single run would
// need.
//
// Every client sets some records aside and runs all candidates on the rest. For each record set
// aside, the client computes a vector: the record's scores under all candidates, minus their mean.
// It clips these vectors and releases their sum with noise.
type Selection struct {
	o          SelectionOptions
	base       *study.Study
	candidates []Candidate
	multiplier []float64 // noise multiplier of each candidate's run
	protocols  []*pvi.Protocol
	scores     *dpmech.GaussianSum
}

// NewSelection chooses the candidates and calibrates the noise of all releases, without reading
// records.
func NewSelection(o SelectionOptions) (*Selection, error) {
	st, err := sim.LoadStudy(o.Study, o.Settings)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(selectable(st), o.Score.fits(st)); err != nil {
		return nil, err
	}
	s := &Selection{o: o, base: st}
	if s.candidates, err = s.choose(); err != nil {
		return nil, err
	}
	if err := s.calibrate(); err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	return s, nil
}

// selectable returns an error if no privacy would be proven for a selection in this study.
func selectable(st *study.Study) error {
	switch {
	case st.Privacy.Unit != study.Record:
		return errors.New(`choosing by private records is for unit = "record", whose clients hide a record by noise of their own: tune on made-up or public records`)
	case st.Federation.Opens != study.OpenMessages:
		return errors.New(`choosing by private records opens the scores of each client, but with federation.opens = "sums" only sums are opened: tune on made-up or public records`)
	case st.Privacy.Epsilon == 0:
		return errors.New("choosing by private records divides a privacy target: write privacy.epsilon in place of noise_multiplier")
	case st.Standardisation != nil:
		return errors.New(`choosing by private records would compute the scale of columns again for every candidate: write model.standardise = "bounds", or tune on made-up or public records`)
	}
	return nil
}

// Study returns the study without any candidate's settings.
func (s *Selection) Study() *study.Study { return s.base }

// choose returns the default settings, followed by the candidates in the options. If there are
// none, random ones follow.
func (s *Selection) choose() ([]Candidate, error) {
	space, err := newSpace(s.load)
	if err != nil {
		return nil, err
	}
	all := []Candidate{space.ruled()}
	if len(s.o.Candidates) == 0 {
		if s.o.Draw < 2 {
			return nil, fmt.Errorf("%d candidates leave nothing to choose", s.o.Draw)
		}
		return append(all, space.draw(s.o.Draw-1, s.o.Seed)...), nil
	}
	for _, text := range s.o.Candidates {
		c, err := space.parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (s *space) parse(text string) (Candidate, error) {
	c := Candidate{overrides: slices.Clone(s.start)}
	for _, pair := range strings.Fields(text) {
		key, value, _ := strings.Cut(pair, "=")
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !slices.Contains(s.keys, key) {
			return c, fmt.Errorf("candidate %q: a candidate of this study cannot set %q: write %s=number", text, pair, strings.Join(s.keys, "=number or "))
		}
		c.set(key, x)
	}
	return c, nil
}

func (s *Selection) load(settings ...string) (*study.Study, error) {
	return sim.LoadStudy(s.o.Study, slices.Concat(s.o.Settings, settings))
}

func (s *Selection) study(candidate int, multiplier float64) (*study.Study, error) {
	return s.load(append(slices.Clone(s.candidates[candidate].overrides),
		"privacy.epsilon=", "privacy.noise_multiplier="+strconv.FormatFloat(multiplier, 'g', -1, 64))...)
}

// calibrate finds noise multipliers with which all runs and scores together meet the privacy
// target. It gives every run the same share of μ², and then multiplies all noise by a common
// factor.
func (s *Selection) calibrate() error {
	target := accountant.Target{Epsilon: s.base.Privacy.Epsilon, Delta: s.base.Privacy.Delta}
	mu := accountant.GaussianMu(target.Epsilon, target.Delta)
	each := mu * math.Sqrt((1-scoreBudget)/float64(len(s.candidates)))
	start := make([]float64, len(s.candidates))
	for k, c := range s.candidates {
		epsilon := accountant.GaussianEpsilon(each, target.Delta)
		st, err := s.load(append(slices.Clone(c.overrides), "privacy.epsilon="+strconv.FormatFloat(epsilon, 'g', -1, 64))...)
		if err != nil {
			return fmt.Errorf("candidate %s: %w", c, err)
		}
		p, err := sim.Protocol(st, 0)
		if err != nil {
			return fmt.Errorf("candidate %s: %w", c, err)
		}
		start[k] = p.Method().Noise().Multiplier
	}
	score := s.base.Privacy.Adjacency.Factor() / (mu * math.Sqrt(scoreBudget))
	stretch, err := accountant.CalibrateNoise(target, func(stretch float64) (accountant.Event, error) {
		if err := s.derive(start, score, stretch); err != nil {
			return nil, err
		}
		return s.Event(s.base.Privacy.Adjacency)
	})
	if err != nil {
		return err
	}
	return s.derive(start, score, stretch.Value)
}

// derive sets the protocols of the runs and the mechanism for the scores. It multiplies the noise
// multipliers runs and score by stretch.
func (s *Selection) derive(runs []float64, score, stretch float64) error {
	s.multiplier, s.protocols = make([]float64, len(runs)), make([]*pvi.Protocol, len(runs))
	for k, multiplier := range runs {
		s.multiplier[k] = multiplier * stretch
		st, err := s.study(k, s.multiplier[k])
		if err != nil {
			return err
		}
		if s.protocols[k], err = sim.Protocol(st, 0); err != nil {
			return err
		}
	}
	var err error
	s.scores, err = newScores(len(runs), score*stretch, s.base, len(s.protocols[0].Roster()))
	return err
}

// newScores returns the mechanism for a client's scores of n candidates. The clip is √n/2: if the
// scores are 0 or 1, no vector of scores minus their mean has a larger norm.
func newScores(n int, multiplier float64, st *study.Study, clients int) (*dpmech.GaussianSum, error) {
	return dpmech.NewGaussianSum(dpmech.Config{
		Dim: n, Clip: math.Sqrt(float64(n)) / 2, NoiseMultiplier: multiplier, Shares: 1,
		Terms: st.Federation.MaxRecords, Releases: clients, Adjacency: st.Privacy.Adjacency,
	})
}

// Event returns the accounting event for the scores and all candidates' runs together, under an
// adjacency.
func (s *Selection) Event(adjacency accountant.Adjacency) (accountant.Event, error) {
	all := accountant.Composed{s.scores.EventFor(1, adjacency)}
	for _, p := range s.protocols {
		e, err := p.Event(p.Views()[0], adjacency, p.Releases())
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// cost returns the ε of all releases at the study's δ, and the μ of an equivalent Gaussian
// mechanism.
func (s *Selection) cost(adjacency accountant.Adjacency) (epsilon, mu float64, err error) {
	e, err := s.Event(adjacency)
	if err != nil {
		return 0, 0, err
	}
	profile, err := accountant.Account(e)
	if err != nil {
		return 0, 0, err
	}
	bound, err := profile.Epsilon(s.base.Privacy.Delta)
	if profile.Gaussian() {
		mu = profile.Mu() // mu means something only if all releases together are Gaussian
	}
	return bound.Upper, mu, err
}
