package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A Score is the quantity that the search maximises. It is computed on held-out records.
type Score string

const (
	LogLikelihood Score = "log-likelihood" // mean log predictive density of a record
	Accuracy      Score = "accuracy"       // share of records whose observed outcome has the highest predicted probability
)

func (s Score) fits(st *study.Study) error {
	if k := st.Model.Kind(); s == Accuracy && k != study.Binary && k != study.Class {
		return fmt.Errorf("study %s: accuracy needs an outcome that is binary or one of several classes: use the log likelihood as the score", st.Name)
	}
	return nil
}

func (s Score) of(p *sim.Predictions) float64 {
	if s == Accuracy {
		return *p.Accuracy
	}
	return p.LogLikelihood
}

// Options configures a search.
type Options struct {
	Study    string   // path of the study file
	Settings []string // settings key=value that replace values in the study
	Public   []string // files of public records; without files, the search generates records
	Score    Score
	Budget   int // number of runs, at least [LeastBudget]
	Seed     uint64
	Workers  int // number of goroutines; the result is the same for any number
}

// LeastBudget is the minimum number of runs of a search.
const LeastBudget = 16

// A search first tries many candidates, each in looks runs, which take the fraction lookShare of
// all runs. Then it compares the default settings with the best candidates, at most finalists, on
// other records or other splits, because the best of many scores is biased upwards.
const (
	lookShare = 0.6
	looks     = 2
	finalists = 4
)

// A Search looks for settings on records that cost no privacy.
type Search struct {
	o          Options
	base       *study.Study
	source     *source
	candidates []Candidate
	fixed      int // number of candidates that are not drawn: the default settings and, if it is different, the study as written

	// calibrated has a function for each candidate. It returns the candidate's settings with a
	// noise multiplier that meets the privacy target. The multiplier is calibrated only once.
	calibrated []func() ([]string, error)
}

// New prepares a search. Its error lists every problem of the study.
func New(o Options) (*Search, error) {
	st, err := sim.LoadStudy(o.Study, o.Settings)
	if err != nil {
		return nil, err
	}
	if st.Model.Absent() {
		return nil, fmt.Errorf("study %s: it has no model, and no settings to tune", st.Name)
	}
	if st.Privacy.Unit == study.None {
		return nil, fmt.Errorf("study %s: it has no privacy, and tuning applies to private inference only", st.Name)
	}
	if st.Model.Program != nil && len(o.Public) == 0 {
		return nil, fmt.Errorf("study %s: the outcomes of a program cannot be drawn: tune on public records, --data FILE", st.Name)
	}
	if o.Budget < LeastBudget {
		return nil, fmt.Errorf("a budget of %d runs: give at least %d", o.Budget, LeastBudget)
	}
	if err := o.Score.fits(st); err != nil {
		return nil, err
	}
	s := &Search{o: o, base: st}
	if s.source, err = newSource(st, o.Public); err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	space, err := newSpace(s.load)
	if err != nil {
		return nil, err
	}
	s.candidates = space.fixed()
	s.fixed = len(s.candidates)
	drawn := max(2, int(lookShare*float64(o.Budget))/looks-s.fixed)
	s.candidates = append(s.candidates, space.draw(drawn, o.Seed)...)
	for _, c := range s.candidates {
		s.calibrated = append(s.calibrated, sync.OnceValues(func() ([]string, error) { return s.calibrate(c) }))
	}
	for _, calibrate := range s.calibrated[:s.fixed] {
		if _, err := calibrate(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// calibrate replaces a candidate's ε by the noise multiplier that meets it. It does nothing if the
// study has no ε or asks for a standardisation.
func (s *Search) calibrate(c Candidate) ([]string, error) {
	st, err := s.load(c.overrides...)
	if err != nil || st.Privacy.Epsilon == 0 || st.Standardisation != nil {
		return c.overrides, err
	}
	p, err := sim.Protocol(st, 0)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(c.overrides), "privacy.epsilon=", "privacy.noise_multiplier="+strconv.FormatFloat(p.Method().Noise().Multiplier, 'g', -1, 64)), nil
}

func (s *Search) load(settings ...string) (*study.Study, error) {
	return sim.LoadStudy(s.o.Study, slices.Concat(s.o.Settings, s.source.settings, settings))
}

// ruled returns the candidate with default settings. If the clip has no default, it is the measured
// one.
func (s *space) ruled() Candidate {
	c := Candidate{Name: Rule, overrides: s.start}
	if s.clip > 0 {
		c.Settings = []Setting{{keyClip, s.clip}}
	}
	return c
}

// fixed returns the default settings and, if the study sets a searched key, the study as written.
func (s *space) fixed() []Candidate {
	all := []Candidate{s.ruled()}
	if s.named {
		written := Candidate{Name: AsWritten}
		if s.clip > 0 {
			written.set(keyClip, s.clip)
		}
		all = append(all, written)
	}
	return all
}

func (s *space) draw(n int, seed uint64) []Candidate {
	r := rand.New(rand.NewPCG(seed, 0))
	offset := make([]float64, len(s.keys))
	for i := range offset {
		offset[i] = r.Float64()
	}
	all := make([]Candidate, n)
	for i := range all {
		all[i] = s.candidate(cube(i, offset))
	}
	return all
}

// A trial is a run of a candidate with a seed.
type trial struct {
	candidate int
	seed      uint64
	score     float64
	err       error // error of the run; nil if the run has a score
}

// Run runs the search. After every run, it calls done with the number of finished runs and the
// number of planned ones.
func (s *Search) Run(ctx context.Context, done func(runs, of int)) (*Found, error) {
	first := s.trials(upTo(len(s.candidates)), s.o.Seed, looks)
	left := s.o.Budget - len(first)
	chosen := min(finalists, len(s.candidates)-s.fixed, left/looks-s.fixed)
	again := left / (chosen + s.fixed)
	total := len(first) + again*(chosen+s.fixed)
	runs := 0
	count := func() { runs++; done(runs, total) }
	if err := s.play(ctx, first, count); err != nil {
		return nil, err
	}
	looked := s.tally(first)
	order := upTo(len(s.candidates))[s.fixed:]
	slices.SortStableFunc(order, func(a, b int) int { return byScore(looked[a], looked[b]) })
	second := s.trials(append(upTo(s.fixed), order[:chosen]...), s.o.Seed+looks, again)
	if err := s.play(ctx, second, count); err != nil {
		return nil, err
	}
	return s.found(looked, s.tally(second), total), nil
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (s *Search) trials(candidates []int, seed uint64, times int) []trial {
	var all []trial
	for _, c := range candidates {
		for i := range times {
			all = append(all, trial{candidate: c, seed: seed + uint64(i)})
		}
	}
	return all
}

// play runs trials, and calls count after each. It returns the error of a trial only if the trial
// is of the default settings or the study as written. Other trials keep their errors.
func (s *Search) play(ctx context.Context, trials []trial, count func()) error {
	var all errgroup.Group
	all.SetLimit(max(1, s.o.Workers))
	var counting sync.Mutex
	for i := range trials {
		all.Go(func() error {
			t := &trials[i]
			t.score, t.err = s.one(ctx, t)
			counting.Lock()
			defer counting.Unlock()
			if t.err == nil || ctx.Err() == nil {
				count()
			}
			return ctx.Err()
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, t := range trials {
		if t.err != nil && t.candidate < s.fixed {
			return fmt.Errorf("%s, seed %d: %w", s.candidates[t.candidate], t.seed, t.err)
		}
	}
	return nil
}

func (s *Search) one(ctx context.Context, t *trial) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	overrides, err := s.calibrated[t.candidate]()
	if err != nil {
		return 0, err
	}
	st, err := s.load(overrides...)
	if err != nil {
		return 0, err
	}
	p, err := sim.NewPlay(st, sim.Options{StudyFile: s.o.Study, Seed: t.seed})
	if err != nil {
		return 0, err
	}
	r, err := p.Run(ctx, func(sim.Status) error { return nil })
	if err != nil {
		return 0, err
	}
	score := s.o.Score.of(r.Test)
	if math.IsNaN(score) {
		return 0, errors.New("the posterior predicts nothing")
	}
	return score, nil
}
