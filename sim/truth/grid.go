package truth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
	"fedpvi/sim/report"
)

// gridClips and gridSteps are the grid's clips and step sizes for private gradient steps, as
// multiples of the defaults.
var gridClips, gridSteps = []float64{.25, .5, 1, 2}, []float64{.5, 1, 2}

// gridRounds is the number of rounds with private gradient steps. It has no default.
const gridRounds = "10"

// A Score measures how well held-out records are predicted.
type Score struct {
	Log      float64  `json:"log"`                // mean log predictive density
	Accuracy *float64 `json:"accuracy,omitempty"` // share of correctly predicted outcomes; nil if the outcome is a number
	Failed   string   `json:"failed,omitempty"`   // reason why there are no predictions
}

func newScore(m *study.Model, all []fit.Prediction) (s Score) {
	right := 0
	for _, p := range all {
		s.Log += p.LogDensity / float64(len(all))
		switch m.Kind() {
		case study.Binary:
			right += count((p.Mean > .5) == (p.Outcome == 1))
		case study.Class:
			right += count(slices.Index(p.Classes, slices.Max(p.Classes)) == int(p.Outcome))
		}
	}
	if k := m.Kind(); k == study.Binary || k == study.Class {
		accuracy := float64(right) / float64(len(all))
		s.Accuracy = &accuracy
	}
	return s
}

// playGrid tries private gradient steps with every setting of the grid, and appends the scores to
// r.
func (c *Cell) playGrid(ctx context.Context, r *Replication) error {
	steps := []study.Override{{Key: "inference.solver", Value: `"dp-svi"`}, {Key: "inference.intervals", Value: `"none"`}, {Key: "inference.rounds", Value: gridRounds}}
	rule, err := c.federation(r.Seed, steps)
	if err != nil {
		return err
	}
	m := rule.Protocol.Method()
	of, ok := method.StepsOf(m)
	if !ok {
		return fmt.Errorf("cell %d: private gradient steps have no steps", c.Number)
	}
	for _, clip := range gridClips {
		for _, size := range gridSteps {
			f, err := c.federation(r.Seed, append(slices.Clone(steps), override("privacy.clip", clip*m.Noise().Clip), override("inference.step_size", size*of.StepSize)))
			if err != nil {
				return err
			}
			r.Grid = append(r.Grid, f.score(ctx))
		}
	}
	return ctx.Err()
}

func override(key string, value float64) study.Override {
	return study.Override{Key: key, Value: strconv.FormatFloat(value, 'g', -1, 64)}
}

type federation struct {
	*sim.Federation
	*world
}

// federation returns a federation that is ready to run the cell's study. overrides change settings
// of the study. seed determines the records and the noise.
func (c *Cell) federation(seed uint64, overrides []study.Override) (*federation, error) {
	w, err := c.world(seed, overrides...)
	if err != nil {
		return nil, fmt.Errorf("cell %d, seed %d: %w", c.Number, seed, err)
	}
	f, err := sim.New(w.study, w.holders, seed*1_000_003+uint64(c.Number), 1)
	if err != nil {
		return nil, fmt.Errorf("cell %d: %w", c.Number, err)
	}
	return &federation{f, w}, nil
}

func (f *federation) score(ctx context.Context) (s Score) {
	err := f.Run(ctx, func(*pvi.Outcome) error { return nil })
	if err == nil {
		m := f.Protocol.Model()
		var all []fit.Prediction
		all, err = m.Predict(shard.Design(f.study, f.test), f.Protocol.Family(), f.Server.Posterior())
		s = newScore(&f.study.Model, all)
	}
	if err == nil && math.IsNaN(s.Log) || math.IsInf(s.Log, 0) {
		err = errors.New("the log density of the held-out records is not finite")
	}
	if err != nil {
		return Score{Failed: err.Error()}
	}
	return s
}

// A loss tells how much worse a cell's default settings predict than the best settings in the grid.
type loss struct {
	Cell
	log, accuracy         float64 // scores of the default method; accuracy is NaN if the outcome is a number
	rule, best            float64 // mean log density of private gradient steps, with their default setting (rule) and with the best setting
	ruleRight, mostRight  float64 // accuracy with the default setting and with the most accurate one
	clip, size            float64 // clip and step size with the best log density, as multiples of the defaults
	replications, settled int     // number of replications, and number of settings that never failed
}

// lossOf averages the scores of one cell over its replications. It leaves out settings that failed
// at least once. ok is false if a replication has no grid, or if the default or every setting
// failed.
func lossOf(outcomes []Outcome) (l loss, ok bool) {
	l = loss{Cell: outcomes[0].Cell, best: math.Inf(-1), rule: math.NaN(), ruleRight: math.NaN(), mostRight: math.Inf(-1)}
	var replications []*Replication
	for _, o := range outcomes {
		for _, r := range o.Replications {
			if r.Grid == nil || r.Failed != "" {
				return l, false
			}
			replications = append(replications, r)
		}
	}
	n := float64(len(replications))
	l.replications = len(replications)
	for _, r := range replications {
		own := Score{Log: r.Log, Accuracy: r.Accuracy}
		l.log += own.Log / n
		l.accuracy += own.right() / n
	}
	for i := range len(gridClips) * len(gridSteps) {
		log, right := 0.0, 0.0
		failed := false
		for _, r := range replications {
			failed = failed || r.Grid[i].Failed != ""
			log += r.Grid[i].Log / n
			right += r.Grid[i].right() / n
		}
		if failed {
			continue
		}
		l.settled++
		clip, size := gridClips[i/len(gridSteps)], gridSteps[i%len(gridSteps)]
		if log > l.best {
			l.best, l.clip, l.size = log, clip, size
		}
		l.mostRight = max(l.mostRight, right)
		if clip == 1 && size == 1 {
			l.rule, l.ruleRight = log, right
		}
	}
	return l, l.settled > 0
}

func (s Score) right() float64 {
	if s.Accuracy == nil {
		return math.NaN()
	}
	return *s.Accuracy
}

// WriteGrid writes how much worse the defaults are than the best setting in the grid, for the
// default method and for private gradient steps.
func WriteGrid(w io.Writer, outcomes []Outcome) error {
	rows := [][]string{{"cell", "levels", "log score", "rule", "best", "clip", "step size", "loss", "of the rule", "accuracy lost", "by the rule"}}
	var losses []loss
	var failed []int
	for _, of := range byCell(outcomes) {
		if l, ok := lossOf(of); ok {
			losses = append(losses, l)
			rows = append(rows, l.row())
		} else if slices.ContainsFunc(of, Outcome.withGrid) {
			failed = append(failed, of[0].Cell.Number)
		}
	}
	if len(failed) > 0 {
		fmt.Fprintf(w, "\nCells in which the default, or every setting of the grid, failed: %v\n", failed)
	}
	if len(losses) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nAgainst private gradient steps, with the clip and the step size in multiples of the rule's:\n\n")
	if err := words.Table(w, "  ", 2, rows); err != nil {
		return err
	}
	return writeLosses(w, losses)
}

func (o Outcome) withGrid() bool {
	return slices.ContainsFunc(o.Replications, func(r *Replication) bool { return r.Grid != nil })
}

func (l *loss) row() []string {
	percent := func(x float64) string { return dashed("%.1f %%", 100*x) }
	return []string{
		fmt.Sprint(l.Number), l.String(), log(l.log), log(l.rule), log(l.best), fmt.Sprint(l.clip), fmt.Sprint(l.size),
		log(l.best - l.log), log(l.best - l.rule), percent(l.mostRight - l.accuracy), percent(l.mostRight - l.ruleRight),
	}
}

// log formats a log score, or a difference between two log scores.
func log(x float64) string {
	if math.Abs(x) >= 1000 { // the steps diverged
		return dashed("%.0e", x)
	}
	return dashed("%.4f", x)
}

func writeLosses(w io.Writer, losses []loss) error {
	for _, of := range []struct {
		name       string
		log, right func(l *loss) float64
	}{
		{"the default", func(l *loss) float64 { return l.log }, func(l *loss) float64 { return l.accuracy }},
		{"the rule", func(l *loss) float64 { return l.rule }, func(l *loss) float64 { return l.ruleRight }},
	} {
		var logs, right []float64
		for i := range losses {
			l := &losses[i]
			if x := l.best - of.log(l); !math.IsNaN(x) {
				logs = append(logs, x)
			}
			if x := l.mostRight - of.right(l); !math.IsNaN(x) {
				right = append(right, x)
			}
		}
		_, err := fmt.Fprintf(w, "Loss of %s: log score %s at most, %s in the median of %d cells; accuracy %s at most, %s in the median of %d.\n", of.name,
			log(report.Quantile(logs, 1)), log(median(logs)), len(logs),
			dashed("%.1f %%", 100*report.Quantile(right, 1)), dashed("%.1f %%", 100*median(right)), len(right))
		if err != nil {
			return err
		}
	}
	return nil
}

// dashed formats x, and NaN as a dash.
func dashed(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}
