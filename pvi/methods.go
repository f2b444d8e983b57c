package pvi

import (
	"fmt"

	"fedpvi/pvi/method"
	"fedpvi/pvi/method/change"
	"fedpvi/pvi/method/clientscores"
	"fedpvi/pvi/method/descent"
	"fedpvi/pvi/method/gradientsum"
	"fedpvi/pvi/method/parts"
	"fedpvi/pvi/method/plain"
	"fedpvi/pvi/method/scores"
	"fedpvi/pvi/method/sites"
	"fedpvi/pvi/method/statistics"
	"fedpvi/pvi/method/tables"
	"fedpvi/pvi/study"
)

// methods lists the methods for the rounds. A study uses the first one whose condition it meets. To
// add a method, write a package below fedpvi/pvi/method and add a line here.
var methods = []struct {
	of  func(*study.Study) bool
	new func(*method.Setting) (method.Draft, error)
}{
	{func(st *study.Study) bool { return st.Model.Absent() }, tables.New},
	{func(st *study.Study) bool { return st.Privacy.Unit == study.None }, plain.New},
	{func(st *study.Study) bool {
		return st.Privacy.Unit == study.Client && st.Inference.Solver == study.Scoring
	}, clientscores.New},
	{func(st *study.Study) bool { return st.Inference.Solver == study.Scoring }, scores.New},
	{func(st *study.Study) bool { return st.Privacy.Unit == study.Client }, change.New},
	{func(st *study.Study) bool { return st.Inference.Partitions.Count > 0 }, parts.New},
	{func(st *study.Study) bool { return st.Inference.Solver == study.DPSEP }, sites.New},
	{func(st *study.Study) bool { return st.Federation.Opens == study.OpenSums }, gradientsum.New},
	{func(st *study.Study) bool { return st.Inference.Solver == study.DPSVI }, descent.New},
	{func(st *study.Study) bool { return st.Inference.Solver == study.ClippedAnalytical }, statistics.New},
}

func draftOf(s *method.Setting) (method.Draft, error) {
	for _, m := range methods {
		if m.of(s.Study) {
			return m.new(s)
		}
	}
	return nil, fmt.Errorf("no method hides records with inference.solver = %q", s.Study.Inference.Solver)
}
