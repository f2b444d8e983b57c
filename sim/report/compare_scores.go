package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// A ScoreComparison compares studies by how well they score held-out records. Each study holds out
// other records, so the means are independent.
type ScoreComparison struct {
	Runs []ComparedScores `json:"runs"` // in order of decreasing elpd per record
}

// A ComparedScores is one study in a comparison. Difference is its elpd per record minus the first
// study's. DifferenceSE covers both the privacy noise and the sampling error.
type ComparedScores struct {
	From         string           `json:"from"`           // results folder or file from which the scores were read
	Seed         uint64           `json:"seed,omitempty"` // seed of the run, if From is a folder
	Scores       *describe.Scored `json:"held_out"`
	Difference   float64          `json:"difference"`
	DifferenceSE float64          `json:"difference_se"`
}

// CompareScores compares studies by the scores of their held-out records. Each element of from is a
// results folder, or a file with the output of coordinator posterior --json. All studies must clip
// the log densities to the same range and have them on the same scale.
func CompareScores(from []string) (*ScoreComparison, error) {
	c := &ScoreComparison{}
	var first *study.Study
	for _, path := range from {
		run, st, err := scoresOf(path)
		if err != nil {
			return nil, err
		}
		c.Runs = append(c.Runs, run)
		if err := scoredAlike(c.Runs[0].Scores, run.Scores); err != nil {
			return nil, fmt.Errorf("%s and %s: %w", from[0], path, err)
		}
		if first == nil {
			first = st
		}
		if first == nil || st == nil {
			continue
		}
		if err := declaredAlike(first, st); err != nil {
			return nil, fmt.Errorf("%s and %s: %w", from[0], path, err)
		}
	}
	slices.SortStableFunc(c.Runs, func(a, b ComparedScores) int { return cmp.Compare(b.Scores.Mean.Estimate, a.Scores.Mean.Estimate) })
	best := c.Runs[0].Scores
	for i := range c.Runs[1:] {
		r := &c.Runs[i+1]
		r.Difference = r.Scores.Mean.Estimate - best.Mean.Estimate
		r.DifferenceSE = math.Hypot(r.Scores.MeanSE, best.MeanSE)
	}
	return c, nil
}

// scoresOf reads the scores of a study from a results folder or a file. For a file, st is nil.
func scoresOf(path string) (of ComparedScores, st *study.Study, err error) {
	of.From = path
	info, err := os.Stat(path)
	if err != nil {
		return of, nil, err
	}
	if info.IsDir() {
		if st, err = sim.LoadStudy(filepath.Join(path, "study.toml"), nil); err != nil {
			return of, nil, err
		}
		run := new(sim.Result)
		if err := readJSON(path, "run.json", run); err != nil {
			return of, nil, err
		}
		of.Scores, of.Seed = run.HeldOut, run.Seed
	} else {
		p := &session.Posterior{Result: new(session.Result)}
		if err := readJSON(filepath.Dir(path), filepath.Base(path), p); err != nil {
			return of, nil, err
		}
		of.Scores = p.Result.HeldOut
	}
	switch {
	case of.Scores == nil:
		return of, nil, fmt.Errorf("%s has no scores of held-out records: they need [compare] in the study and an accepted last round; sim compare --data compares runs without them", path)
	case of.Scores.Mean.IntervalOnly:
		return of, nil, fmt.Errorf("%s: the privacy noise leaves no estimate of the elpd: a comparison needs more held-out records, a larger compare.share or a larger ε", path)
	}
	return of, st, nil
}

// scoredAlike returns an error if the scores of two studies cannot be compared.
func scoredAlike(a, b *describe.Scored) error {
	switch {
	case a.Low != b.Low || a.High != b.High:
		return fmt.Errorf("log densities are clipped to [%s, %s] and to [%s, %s]: use the same compare.clip", words.Number(a.Low), words.Number(a.High), words.Number(b.Low), words.Number(b.High))
	case a.Outcome != b.Outcome && a.Outcome != "" && b.Outcome != "":
		return fmt.Errorf("the outcomes are %q and %q, so that log densities are on different scales: use the same outcome, bounds and transform", a.Outcome, b.Outcome)
	case a.Outcome != b.Outcome:
		return errors.New("one of the models is a family, the other a formula or a program, so that log densities may be on different scales: write both in the same way")
	}
	return nil
}

// Write writes the comparison as a table.
func (c *ScoreComparison) Write(w io.Writer) error {
	rows := [][]string{{"study", "held out", "elpd per record", "se", "difference", "se"}}
	for i, r := range c.Runs {
		s := r.Scores
		row := []string{r.From, fmt.Sprintf("%.0f", s.Records.Estimate), words.Number(s.Mean.Estimate), words.Number(s.MeanSE), "", ""}
		if i > 0 {
			row[4], row[5] = words.Number(r.Difference), words.Number(r.DifferenceSE)
		}
		rows = append(rows, row)
	}
	text := "elpd per record is the mean log predictive density of the records that the clients held out. Standard errors contain the privacy noise and the sampling error. Every study held out other records."
	second := c.Runs[1]
	if second.Seed != 0 && second.Seed == c.Runs[0].Seed {
		text += " Simulations with the same seed can have the same noise, and no federation has: use another seed for each run."
	}
	return writeRanking(w, rows, text, "studies", second.Difference, second.DifferenceSE)
}
