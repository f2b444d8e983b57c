package report_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/session"
	"fedpvi/sim/report"
)

// postedScores writes files in the format of coordinator posterior --json, and returns their paths.
func postedScores(t *testing.T, all ...*describe.Scored) (files []string) {
	t.Helper()
	folder := t.TempDir()
	for i, s := range all {
		b, err := json.Marshal(&session.Posterior{Result: &session.Result{HeldOut: s}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, string(rune('a'+i))+".json")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func scoredWith(change func(*describe.Scored)) *describe.Scored {
	s := &describe.Scored{Low: -6, High: 1, Outcome: "y, a count up to 9", Mean: describe.Value{Estimate: -1.5, Low: -1.8, High: -1.2}, MeanSE: .3}
	change(s)
	return s
}

// The comparison must order the studies by elpd per record and treat their means as independent.
func TestCompareScores(t *testing.T) {
	files := postedScores(t, scoredWith(func(*describe.Scored) {}), scoredWith(func(s *describe.Scored) { s.Mean.Estimate, s.MeanSE = -1, .4 }))
	c, err := report.CompareScores(files)
	if err != nil {
		t.Fatal(err)
	}
	first, second := c.Runs[0], c.Runs[1]
	if first.From != files[1] || first.Difference != 0 || math.Abs(second.Difference+.5) > 1e-12 || math.Abs(second.DifferenceSE-.5) > 1e-12 {
		t.Errorf("%+v", c.Runs)
	}
	var text strings.Builder
	if err := c.Write(&text); err != nil || !strings.Contains(text.String(), "less than two standard errors") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestCompareScoresRefuses(t *testing.T) {
	plain := scoredWith(func(*describe.Scored) {})
	for says, other := range map[string]*describe.Scored{
		"use the same compare.clip":                        scoredWith(func(s *describe.Scored) { s.Low = -5 }),
		"use the same outcome":                             scoredWith(func(s *describe.Scored) { s.Outcome = "y, a count up to 10" }),
		"write both in the same way":                       scoredWith(func(s *describe.Scored) { s.Outcome = "" }),
		"has no scores of held-out records":                nil,
		"the privacy noise leaves no estimate of the elpd": scoredWith(func(s *describe.Scored) { s.Mean.IntervalOnly = true }),
	} {
		if _, err := report.CompareScores(postedScores(t, plain, other)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
