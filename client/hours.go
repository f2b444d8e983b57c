package client

import (
	"errors"
	"fmt"
	"math"
	"time"

	"fedpvi/internal/guard"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Duration is an estimate of how long a study keeps this machine busy. It follows from the study
// and from the machine's speed on made-up records. It does not depend on the client's own records.
type Duration struct {
	Hours   float64 `json:"hours"`   // computing time of a client with Records records; 0 if unknown
	Records int     `json:"records"` // federation.max_records
	Answers int     `json:"answers"`
	Unknown string  `json:"unknown,omitempty"` // why there is no estimate; empty if there is one
}

const (
	fewRecords  = 256            // number of made-up records of the first simulated client
	someRecords = 8 * fewRecords // number of made-up records of the second simulated client
	// A rehearsal simulates the study with two clients. After this time, it ends as soon as each
	// client has answered a plan of the rounds phase.
	rehearse = 300 * time.Millisecond
	longest  = 30 * time.Second
)

// estimate runs the beginning of a study with two clients and made-up records, and measures the
// computing time. It assumes that the time is linear in the number of records, and that the rounds
// that it did not simulate take as long, on average, as those that it did.
func (c *Client) estimate(st *study.Study, p *pvi.Protocol, l Leaves) Duration {
	most, large := st.Federation.MaxRecords, min(someRecords, st.Federation.MaxRecords)
	r := &rehearsal{records: [2]int{min(fewRecords, large/2), large}, tasks: map[task]*timings{}, clock: c.stopwatch}
	d := Duration{Records: most, Answers: l.Messages}
	done := make(chan error, 1)
	go func() {
		var err error
		fault := guard.Run(func() { err = r.play(st) })
		done <- errors.Join(fault, err)
	}()
	select {
	case err := <-done:
		if err != nil {
			d.Unknown = err.Error()
			return d
		}
	case <-time.After(longest): // the simulation runs on until it is done or the program ends
		d.Unknown = fmt.Sprintf("%d made-up records took longer than %s", large, longest)
		return d
	}
	scale, last := r.played(session.ScalePlan), len(p.After())
	d.Hours = r.phase(session.ScalePlan, session.ScaleOutcome, scale, scale, most) +
		r.phase(session.Plan, session.Outcome, p.Plans(), l.Messages-scale-last, most) +
		r.phase(session.OneStepPlan, session.OneStepOutcome, last, last, most)
	return d
}

// allowsHours returns a Refusal if the policy has a time limit, and the estimate exceeds it or is
// missing.
func (p *Policy) allowsHours(d Duration) error {
	switch {
	case p.MaxHours == 0:
		return nil
	case d.Unknown != "":
		return &Refusal{fmt.Sprintf("the computing time of the study could not be estimated (%s), and the policy allows at most %g hours (compute.max_hours)", d.Unknown, p.MaxHours)}
	case d.Hours > p.MaxHours:
		return &Refusal{fmt.Sprintf("the study takes about %.2g hours of computing on this machine for federation.max_records = %d records, and the policy allows at most %g hours (compute.max_hours)", d.Hours, d.Records, p.MaxHours)}
	}
	return nil
}

// mayTake estimates the computing time if the policy has a time limit, and checks it (see
// allowsHours).
func (c *Client) mayTake(p *Policy, st *study.Study, clients []pvi.ClientID) error {
	if p.MaxHours == 0 {
		return nil
	}
	protocol, err := session.Public(st, clients)
	if err != nil {
		return err
	}
	l, err := leaves(st, clients, protocol)
	if err != nil {
		return err
	}
	return p.allowsHours(c.estimate(st, protocol, l))
}

// A rehearsal measures how long two simulated clients with made-up records take for each task of a
// study. The second client has more records than the first.
type rehearsal struct {
	records [2]int
	tasks   map[task]*timings
	clock   func() time.Time
}

// A task is to answer an entry of the given kind, or to process it.
type task struct {
	kind   session.Kind
	answer bool
}

// timings has the times that the two clients took for one task.
type timings [2]struct {
	count          int
	total, fastest time.Duration
}

func (r *rehearsal) play(st *study.Study) error {
	s, err := session.NewRehearsal(st, pretended(st, len(r.records)), r.records[:]...)
	if err != nil {
		return err
	}
	for began := r.clock(); ; {
		if more, err := s.Step(r.timed); !more || err != nil {
			return err
		}
		if p := r.tasks[task{session.Plan, true}]; p != nil && p[0].count > 0 && p[1].count > 0 && r.clock().Sub(began) > rehearse {
			return nil
		}
	}
}

func (r *rehearsal) timed(w session.Work) error {
	p := r.tasks[task{w.Kind, w.Answer}]
	if p == nil {
		p = new(timings)
		r.tasks[task{w.Kind, w.Answer}] = p
	}
	began := r.clock()
	err := w.Do()
	took, own := r.clock().Sub(began), &p[w.Client]
	if own.count == 0 || took < own.fastest {
		own.fastest = took
	}
	own.count++
	own.total += took
	return err
}

// hours returns the mean time of a task for the given number of records, or 0 if the task was not
// simulated. To find the time that one more record takes, it compares the fastest runs of the two
// clients.
func (r *rehearsal) hours(kind session.Kind, answer bool, records int) float64 {
	p := r.tasks[task{kind, answer}]
	if p == nil || p[1].count == 0 {
		return 0
	}
	each := max(0, p[1].fastest-p[0].fastest).Hours() / float64(r.records[1]-r.records[0])
	return p[1].total.Hours()/float64(p[1].count) + each*float64(records-r.records[1])
}

// phase returns how many hours a phase takes to compute.
func (r *rehearsal) phase(plan, outcome session.Kind, plans, answers, records int) float64 {
	return float64(answers)*r.hours(plan, true, records) + float64(plans)*(r.hours(plan, false, records)+r.hours(outcome, false, records))
}

// played returns how many plans of the given kind were simulated.
func (r *rehearsal) played(plan session.Kind) int {
	if p := r.tasks[task{plan, false}]; p != nil {
		return p[1].count
	}
	return 0
}

// InWords describes the estimate as an English sentence.
func (d Duration) InWords() string {
	if d.Unknown != "" {
		return "The computing time could not be estimated: " + d.Unknown + "."
	}
	return fmt.Sprintf("%s of computing in all if there are federation.max_records = %d records, and less with fewer.", inWords(d.Hours), d.Records)
}

// inWords describes a time of h hours with about two significant digits.
func inWords(h float64) string {
	switch s := h * 3600; {
	case s < 60:
		return "Less than a minute"
	case s < 90*60:
		return "About " + words.Plural(int(math.Round(s/60)), "minute")
	case h < 10:
		return fmt.Sprintf("About %.1f hours", h)
	}
	return fmt.Sprintf("About %.0f hours", h)
}
