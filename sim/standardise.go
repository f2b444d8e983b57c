package sim

import (
	"fmt"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Standardisation is the result of the scale phase, which precedes the first round.
type Standardisation struct {
	Outcomes []*scale.Outcome
	Columns  []scale.Column
	Beyond   map[string]int // number of values outside the estimated range of each column
}

// standardise runs the scale phase if the study has one. It returns the study with the estimated
// scale of its columns. If adder is not nil, the releases are added up with secure sums.
func standardise(st *study.Study, holders []Holder, roster []pvi.ClientID, seed uint64, adder *Adder) (*study.Study, *Standardisation, error) {
	if st.Standardisation == nil {
		return st, nil, nil
	}
	scaling, err := scale.New(st, roster)
	if err != nil {
		return nil, nil, err
	}
	sites := make([]*scale.Site, len(holders))
	for m, h := range holders {
		if sites[m], err = scale.NewSite(scaling, h.ID, h.Records); err != nil {
			return nil, nil, err
		}
	}
	server := scale.NewServer(scaling)
	found := new(Standardisation)
	for {
		plan, ok := server.Next()
		if !ok {
			break
		}
		outcome, err := scalePass(server, sites, &plan, seed, adder)
		if err != nil {
			return nil, nil, err
		}
		found.Outcomes = append(found.Outcomes, outcome)
	}
	found.Columns = server.Columns()
	scaled, err := server.Scaled()
	if err != nil {
		return nil, nil, err
	}
	found.Beyond = map[string]int{}
	for _, h := range holders {
		shard.Beyond(found.Beyond, scaled, h.Records)
	}
	return scaled, found, nil
}

func scalePass(server *scale.Server, sites []*scale.Site, plan *scale.Plan, seed uint64, adder *Adder) (outcome *scale.Outcome, err error) {
	releases := make([]scale.Release, len(sites))
	for m, site := range sites {
		src := seeded.Stream(seed, purposeScale, uint64(m), uint64(plan.Number))
		if err := site.Propose(&releases[m], plan, src); err != nil {
			return nil, err
		}
	}
	if adder != nil {
		outcome, err = scaleSecurely(server, releases, adder)
	} else {
		for m := range releases {
			if outcome, err = server.Collect(&releases[m]); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, err
	}
	for _, site := range sites {
		if err := site.Settle(outcome); err != nil {
			return nil, err
		}
	}
	return outcome, nil
}

func scaleSecurely(server *scale.Server, releases []scale.Release, adder *Adder) (*scale.Outcome, error) {
	var vectors [][]int64
	for _, r := range releases {
		vectors = append(vectors, r.Sum)
	}
	participants := server.Waiting()
	sum, err := adder.Add(vectors)
	if err != nil {
		return nil, err
	}
	return server.Replay(&scale.Outcome{Number: releases[0].Number, Participants: participants, Sum: sum[:len(vectors[0])]})
}

func scaleNotes(columns []scale.Column) []string {
	texts := map[scale.Finding]string{
		scale.AtMost:   "The noise hides the spread of column %s: its scale may be too wide. A larger standardise.budget_share, fewer standardise.columns or more records would help.",
		scale.Hidden:   "The noise of the standardisation hides how many records there are: column %s keeps the bounds it had. A larger standardise.budget_share or more records would help.",
		scale.Constant: "Column %s hardly varies: it keeps the bounds it had.",
		scale.Unopened: "Too few clients answered for a scale of column %s: it keeps its public bounds.",
	}
	var notes []string
	for _, c := range columns {
		if text, ok := texts[c.Finding]; ok {
			notes = append(notes, fmt.Sprintf(text, c.Column))
		}
	}
	return notes
}
