package client_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/dpmech"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// ticking returns a clock that moves forward by step each time it is read.
func ticking(step time.Duration) func() time.Time {
	now := today
	return func() time.Time {
		now = now.Add(step)
		return now
	}
}

// slowly is like with, but the client's stopwatch shows 20 minutes for every task.
func (p *holder) slowly(f func(c *client.Client, m *client.Member, policy *client.Policy) error) error {
	return p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		c.Stopwatch(ticking(20 * time.Minute))
		return f(c, m, policy)
	})
}

// A client in this study has nine tasks: it processes three plans, answers them, and processes
// their outcomes.
func TestStudyThatTakesTooLongIsRefused(t *testing.T) {
	h := newHub(t, planeStudy(clientPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	for limit, fits := range map[string]bool{"": true, "2.9": false, "3.1": true} {
		if limit != "" {
			p.edit("# max_hours = 8", "max_hours = "+limit)
		}
		check(t, p.slowly(func(c *client.Client, m *client.Member, policy *client.Policy) error {
			before, _ := c.Store().Head()
			r, err := c.Review(m, policy, "")
			if err != nil {
				return err
			}
			if d := r.Takes; math.Abs(d.Hours-3) > 1e-9 || d.Answers != 3 || d.Records != h.study.Federation.MaxRecords || d.Unknown != "" {
				t.Errorf("the estimate is %+v", d)
			}
			refused := func(text string) bool {
				return strings.Contains(text, "takes about 3 hours") && strings.Contains(text, "at most "+limit+" hours")
			}
			if got := len(r.Problems) == 0; got != fits || !fits && !refused(r.Problems[0]) {
				t.Errorf("limit %q: %q", limit, r.Problems)
			}
			found := c.Examine(t.Context(), client.Examination{})
			at := slices.IndexFunc(found, func(f client.Finding) bool { return f.Check == "computing time" })
			if f := found[at]; f.OK != fits || !fits && !refused(f.Found) {
				t.Errorf("limit %q: the doctor finds %+v", limit, f)
			}
			if fits {
				return nil
			}
			if _, err = c.Approve(m, policy, "", m.Hash.String()); client.CodeOf(err) != client.Declined || !refused(err.Error()) {
				t.Errorf("limit %q: %v", limit, err)
			}
			if _, approved := c.Terms(m, policy); approved {
				t.Error("a study that takes too long was approved")
			}
			if after, _ := c.Store().Head(); after != before {
				t.Error("the ledger has changed")
			}
			return nil
		}))
		if limit != "" {
			p.edit("max_hours = "+limit, "# max_hours = 8")
		}
	}
}

// Review, doctor and approval must print the same for 10 records as for 1,000.
func TestHoursDoNotDependOnTheFile(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	for _, limit := range []string{"2.9", "3.1"} {
		p.edit("# max_hours = 8", "max_hours = "+limit)
		var said []string
		for _, records := range []int{10, 1000} {
			check(t, os.WriteFile(p.data, []byte("x,y\n"+strings.Repeat("0.5,0.2\n", records)), 0o600))
			check(t, p.slowly(func(c *client.Client, m *client.Member, policy *client.Policy) error {
				r, err := c.Review(m, policy, "")
				if err != nil {
					return err
				}
				text := new(strings.Builder)
				check(t, r.Text(text))
				for _, f := range c.Examine(t.Context(), client.Examination{Data: origin.Source{From: p.data}}) {
					if f.Check == "computing time" {
						fmt.Fprintf(text, "%+v", f)
					}
				}
				_, err = c.Approve(m, policy, "", m.Hash.String())
				fmt.Fprint(text, err)
				said = append(said, text.String())
				return c.Forget(m.Hash, "approval")
			}))
		}
		if said[0] != said[1] {
			t.Errorf("limit %s: with 10 records %s\nand with 1,000 %s", limit, said[0], said[1])
		}
		p.edit("max_hours = "+limit, "# max_hours = 8")
	}
}

func TestPolicyOfHours(t *testing.T) {
	for text, want := range map[string]string{
		"max_hours = 0":                "must be above 0",
		"max_hours = -1":               "must be above 0",
		"max_hours = nan":              "",
		"max_hours = \"a day\"":        "",
		"max_hour = 8":                 "max_hour",
		"max_hours = 8\nmax_cores = 2": "max_cores",
	} {
		if _, err := client.ParsePolicy("policy.toml", []byte("version = 1\n[compute]\n"+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p, err := client.ParsePolicy("policy.toml", []byte("version = 1\n[compute]\nmax_hours = 0.5\n"))
	check(t, err)
	if err := p.Limits(client.Duration{Hours: 0.1, Unknown: "a reason"}); client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), "a reason") {
		t.Errorf("an unknown time: %v", err)
	}
}

// The bounds are wide, because made-up records may need more or fewer iterations than generated
// records.
func TestHoursAgainstARun(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		t.Skip("set FEDPVI_LONG: it measures time")
	}
	const records = 20_000
	for _, path := range []string{"demo/hospitals", "demo/visits", "sep/probit", "sep/clusters", "standardise/poor-bounds"} {
		t.Run(path, func(t *testing.T) {
			st, err := sim.LoadStudy("../experiments/"+path+".toml", []string{
				"simulation.clients=2", fmt.Sprintf("simulation.synthetic.records_per_client=%d", records), fmt.Sprintf("federation.max_records=%d", records), "federation.min_clients=2",
			})
			check(t, err)
			holders, _, err := sim.Records(st, sim.Options{Seed: 10_001})
			check(t, err)
			clients := []pvi.ClientID{holders[0].ID, holders[1].ID}
			d, err := client.Estimate(st, clients)
			check(t, err)
			took := computing(t, st, holders)
			t.Logf("estimate %s, run %s, ratio %.2f", time.Duration(d.Hours*float64(time.Hour)), took, d.Hours/took.Hours())
			if ratio := d.Hours / took.Hours(); !(ratio > 1./4 && ratio < 4) {
				t.Errorf("estimate over run is %.2f: %+v", ratio, d)
			}
		})
	}
}

func computing(t *testing.T, st *study.Study, holders []sim.Holder) (took time.Duration) {
	clients := []pvi.ClientID{holders[0].ID, holders[1].ID}
	server, err := session.NewServer(st, clients)
	check(t, err)
	var sites []*session.Site
	for _, h := range holders {
		s, err := session.NewSite(st, clients, h.ID, h.Records)
		check(t, err)
		sites = append(sites, s)
	}
	timed := func(i int, work func() error) {
		began := time.Now()
		check(t, work())
		if i == 0 {
			took += time.Since(began)
		}
	}
	follow := func(e session.Entry) {
		for i, s := range sites {
			timed(i, func() error { return s.Follow(e) })
		}
	}
	for !server.Done() {
		plan, ok := server.Next()
		if !ok {
			t.Fatal("no plan")
		}
		follow(plan)
		for i, s := range sites {
			if _, asked := s.Pending(); !asked {
				continue
			}
			var a session.Answer
			timed(i, func() (err error) {
				a, err = s.Answer(dpmech.NewStream())
				return err
			})
			outcome, err := server.Collect(s.ID(), plan.Plan, a.Release)
			check(t, err)
			if outcome != nil {
				follow(*outcome)
			}
		}
	}
	return took
}
