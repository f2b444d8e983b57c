package session

import (
	"fmt"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// A Rehearsal simulates a study with made-up records, so that clients can measure their computing
// time before they consent.
type Rehearsal struct {
	server *Server
	sites  []*Site
	noise  *dpmech.Stream
	last   Answer // answer that was computed most recently
}

// NewRehearsal returns a rehearsal in its initial state. Client m of the roster has records[m]
// made-up records. All clients beyond these send copies of the answers.
func NewRehearsal(st *study.Study, roster []pvi.ClientID, records ...int) (*Rehearsal, error) {
	server, err := NewServer(st, roster)
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{server: server, noise: dpmech.NewStream()}
	for i, n := range records {
		s, err := NewSite(st, roster, roster[i], rehearsed(st, n))
		if err != nil {
			return nil, err
		}
		r.sites = append(r.sites, s)
	}
	return r, nil
}

// rehearsed returns the given number of made-up records. Every other record has the highest
// outcome, so that fits take as long as with real records.
func rehearsed(st *study.Study, count int) *shard.Records {
	made, records := method.MadeUp(st, st.Digest, 0, count), new(shard.Records)
	outcome := st.ColumnIndex(st.Model.Outcome)
	for i := range count {
		row := made.Row(i)
		for j := range row {
			if c := &st.Columns[j]; c.Low == math.Trunc(c.Low) && c.High >= c.Low+1 {
				row[j] = math.Trunc(row[j]) // a program may require integers
			}
		}
		if outcome >= 0 && i%2 == 1 {
			c := &st.Columns[outcome]
			row[outcome] = max(c.High, float64(len(c.Levels)-1))
		}
		if st.Privacy.Unit == study.Person {
			records.AppendFor(fmt.Sprint(i/st.Privacy.RowsPerPerson), row)
		} else {
			records.Append(row)
		}
	}
	return records
}

// Work is one piece of a client's work, following an entry or answering a plan. The caller can time
// it.
type Work struct {
	Client int  // index of the client in the roster
	Kind   Kind // kind of the entry or plan
	Answer bool // whether the client answers a plan
	Do     func() error
}

// Step simulates the next plan and its outcome, or all plans that are open at the same time. It
// calls do for each piece of work of a client with records, and do must call [Work.Do]. Step
// returns false when the study is over.
func (r *Rehearsal) Step(do func(Work) error) (bool, error) {
	var plans []Entry
	for e, ok := r.server.Next(); ok; e, ok = r.server.Next() {
		if err := r.follow(e, do); err != nil {
			return false, err
		}
		plans = append(plans, e)
	}
	for _, plan := range plans {
		outcome, err := r.answer(plan, do)
		if err == nil {
			err = r.follow(*outcome, do)
		}
		if err != nil {
			return false, err
		}
	}
	return len(plans) > 0, nil
}

func (r *Rehearsal) follow(e Entry, do func(Work) error) error {
	for i, s := range r.sites {
		if err := do(Work{i, e.Kind, false, func() error { return s.Follow(e) }}); err != nil {
			return err
		}
	}
	return nil
}

// answer completes a plan: clients with records answer it, and the other clients send copies of
// these answers.
func (r *Rehearsal) answer(plan Entry, do func(Work) error) (*Entry, error) {
	own := map[pvi.ClientID]Answer{}
	for i, s := range r.sites {
		if number, ok := s.Pending(); !ok || number != plan.Plan {
			continue
		}
		err := do(Work{i, plan.Kind, true, func() (err error) {
			r.last, err = s.Answer(r.noise)
			return err
		}})
		if err != nil {
			return nil, err
		}
		own[s.ID()] = r.last
	}
	asked := r.server.Waiting(plan.Plan)
	sum := Sum{Participants: asked, Elements: make([]int64, r.server.VectorSize())}
	for _, id := range asked {
		a, computed := own[id]
		if !computed {
			a = r.last
		}
		for j, n := range a.Vector {
			sum.Elements[j] += n
		}
		if r.server.course.secure() {
			continue
		}
		release, err := a.Release, error(nil)
		if !computed {
			if release, err = r.server.course.copied(release, plan, id); err != nil {
				return nil, err
			}
		}
		if outcome, err := r.server.Collect(id, plan.Plan, release); outcome != nil || err != nil {
			return outcome, err
		}
	}
	return r.server.CollectSum(plan.Plan, sum)
}

// copied returns a copy of a release that is addressed from another client to another plan.
func (c *course) copied(release []byte, plan Entry, id pvi.ClientID) ([]byte, error) {
	_, number := c.at(plan.Plan)
	switch plan.Kind {
	case ScalePlan:
		m, err := wire.ReadScaleRelease(release, c.limits)
		if err != nil {
			return nil, err
		}
		m.Client, m.Number = id, number
		return wire.AppendScaleRelease(nil, m), nil
	case OneStepPlan:
		m, err := wire.ReadOneStepRelease(release, c.limits)
		if err != nil {
			return nil, err
		}
		m.Client = id
		return wire.AppendOneStepRelease(nil, m), nil
	}
	m, err := wire.ReadRelease(release, c.limits)
	if err != nil {
		return nil, err
	}
	m.Client, m.Number = id, number
	return wire.AppendRelease(nil, m), nil
}
