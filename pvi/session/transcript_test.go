package session_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// TestTranscripts runs the scenarios in testdata/transcripts with the real state machines and
// compares all events with the expected transcript. The scenarios are also the shortest way to
// learn the protocol. Start with synchronous.txt.
//
// After an intended change, rewrite the expected output:
//
//	go test ./pvi/session -run Transcripts -rewrite
//
// Commands:
//
//	study clients=N        begins a study with sections of a study file as input; lines under
//	                       [override] replace single keys
//	plan                   the coordinator publishes every plan that it can publish now
//	answer NAME...         clients compute the answer to their pending plan; they do not send yet
//	send NAME [plan=N] [to=M] [as=OTHER] [damage]
//	                       sends the answer of a client to the coordinator, also a second time
//	close PLAN             the deadline of a plan passes
//	away NAME...           entries for these clients wait until they are back
//	back NAME...           the clients follow the entries that they missed
//	restart NAME|coordinator
//	                       a machine is replaced by one restored from its saved state
//	crash coordinator      the coordinator is restored from its state after the last entry
//	deliver NAME entry=N [as-plan=M] [flip=OFFSET] [cut]
//	                       delivers an entry of the transcript to a client once more, unchanged
//	                       or changed
//	status                 the state of every machine
//	result                 the posterior, which every machine computes for itself
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "transcripts"), func(t *testing.T, path string) {
		s := &scene{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.out = t, new(strings.Builder)
			s.run(d)
			if s.out.Len() == 0 {
				return "ok\n"
			}
			return s.out.String()
		})
	})
}

var limits = wire.Limits{Elements: 1000, Clients: 10, Name: 20}

var names = []pvi.ClientID{"alice", "bob", "carol", "dave", "erin"}

type scene struct {
	t   *testing.T
	out *strings.Builder

	study   *study.Study
	roster  []pvi.ClientID
	server  *session.Server
	saved   []byte // state of the server after the most recent entry
	entries []session.Entry
	clients map[pvi.ClientID]*client
}

type client struct {
	site    *session.Site
	records *shard.Records
	away    bool
	read    int                    // number of entries that the client has received
	answers map[int]session.Answer // answers by plan number
}

func (s *scene) printf(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// check ends the test if err is not nil, which means that the scenario file is wrong.
func (s *scene) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) run(d *datadriven.TestData) {
	commands := map[string]func(*datadriven.TestData){
		"study": s.begin, "plan": s.plan, "answer": s.answer, "send": s.send, "close": s.close, "away": s.leave,
		"back": s.back, "restart": s.restart, "crash": s.crash, "deliver": s.redeliver, "status": s.status, "result": s.result,
	}
	command, ok := commands[d.Cmd]
	if !ok {
		d.Fatalf(s.t, "there is no command %q", d.Cmd)
	}
	command(d)
}

func (s *scene) begin(d *datadriven.TestData) {
	count := 3
	d.MaybeScanArgs(s.t, "clients", &count)
	sections := map[string]string{}
	var overrides []study.Override
	section := ""
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		if section == "override" {
			key, value, _ := strings.Cut(line, " = ")
			overrides = append(overrides, study.Override{Key: key, Value: value})
			continue
		}
		sections[section] += line + "\n"
	}
	source := linestudy.Document(linestudy.Parts{Privacy: sections["privacy"], Inference: sections["inference"], Federation: sections["federation"]})
	*s = scene{t: s.t, out: s.out, roster: names[:count], clients: map[pvi.ClientID]*client{}}
	var err error
	if s.study, err = study.Parse("study.toml", source, overrides...); err != nil {
		s.printf("%v", err)
		return
	}
	if s.server, err = session.NewServer(s.study, s.roster); err != nil {
		s.printf("%v", err)
		return
	}
	s.save()
	for m, name := range s.roster {
		c := &client{records: lineRecords(m, 40+m), answers: map[int]session.Answer{}}
		c.site, err = session.NewSite(s.study, s.roster, name, c.records)
		s.check(err)
		s.clients[name] = c
	}
	_, plans := s.server.Plans()
	s.printf("%d clients, %d plans", count, plans)
}

// lineRecords returns n records for client m. They are points near the line y = 2x − 1.
func lineRecords(m, n int) *shard.Records {
	records := new(shard.Records)
	for i := range n {
		x := float64((i+m)%7)/3.5 - 1
		records.Append([]float64{x, 2*x - 1 + float64(i%3-1)/4})
	}
	return records
}

// save saves the server's state, as the coordinator does after every entry.
func (s *scene) save() {
	var err error
	s.saved, err = s.server.MarshalBinary()
	s.check(err)
}

func (s *scene) plan(*datadriven.TestData) {
	published := false
	for {
		e, ok := s.server.Next()
		if !ok {
			break
		}
		published = true
		s.publish(e)
	}
	if !published {
		s.printf("the coordinator has no plan to publish")
	}
}

// publish appends an entry to the transcript and delivers it to all clients.
func (s *scene) publish(e session.Entry) {
	s.save()
	s.entries = append(s.entries, e)
	s.printf("coordinator publishes entry %d: %s", len(s.entries), s.describe(e))
	for _, name := range s.roster {
		s.catchUp(name)
	}
}

func (s *scene) catchUp(name pvi.ClientID) {
	c := s.clients[name]
	for !c.away && c.read < len(s.entries) {
		e := s.entries[c.read]
		c.read++
		if err := c.site.Follow(e); err != nil {
			s.printf("%s refuses entry %d: %v", name, c.read, err)
		}
	}
}

func (s *scene) describe(e session.Entry) string {
	switch e.Kind {
	case session.Plan:
		p, err := wire.ReadPlan(e.Body, limits)
		s.check(err)
		return fmt.Sprintf("plan %d, round phase, to %s", e.Plan, list(p.Participants))
	case session.Outcome:
		o, err := wire.ReadOutcome(e.Body, limits)
		s.check(err)
		return fmt.Sprintf("outcome of plan %d, %s, with %s", e.Plan, o.Verdict, list(o.Participants))
	case session.ScaleOutcome:
		o, err := wire.ReadScaleOutcome(e.Body, limits)
		s.check(err)
		return fmt.Sprintf("outcome of plan %d, %s, with %s", e.Plan, o.Verdict, list(o.Participants))
	case session.OneStepOutcome:
		o, err := wire.ReadOneStepOutcome(e.Body, limits)
		s.check(err)
		return fmt.Sprintf("outcome of plan %d, %s, with %s", e.Plan, o.Verdict, list(o.Participants))
	case session.ScalePlan:
		return fmt.Sprintf("plan %d, scale phase, to all", e.Plan)
	case session.OneStepPlan:
		return fmt.Sprintf("plan %d, last round, to all", e.Plan)
	}
	return string(e.Kind)
}

func list(clients []pvi.ClientID) string {
	var names []string
	for _, c := range clients {
		names = append(names, string(c))
	}
	return cmp.Or(strings.Join(names, ", "), "nobody")
}

// named returns the clients listed in a scenario command, or all clients if it lists none.
func (s *scene) named(d *datadriven.TestData) (all []pvi.ClientID) {
	for _, arg := range d.CmdArgs {
		if len(arg.Vals) == 0 && s.clients[pvi.ClientID(arg.Key)] != nil {
			all = append(all, pvi.ClientID(arg.Key))
		}
	}
	if len(all) == 0 {
		return s.roster
	}
	return all
}

func (s *scene) answer(d *datadriven.TestData) {
	for _, name := range s.named(d) {
		c := s.clients[name]
		a, err := c.site.Answer(seeded.Stream(1, "answer/"+string(name), uint64(len(c.answers))))
		if err != nil {
			s.printf("%s does not answer: %v", name, err)
			continue
		}
		c.answers[a.Plan] = a
		cost := "free"
		if len(a.Spent) > 0 {
			var views []string
			for _, charge := range a.Spent {
				views = append(views, charge.View.Name)
			}
			cost = "charged against " + strings.Join(slices.Compact(views), ", ")
		}
		s.printf("%s answers plan %d: %d bytes, %s", name, a.Plan, len(a.Release), cost)
	}
}

func (s *scene) send(d *datadriven.TestData) {
	for _, name := range s.named(d) {
		s.sendOf(d, name)
	}
}

func (s *scene) sendOf(d *datadriven.TestData, name pvi.ClientID) {
	plan, as := 0, string(name)
	for n := range s.clients[name].answers {
		plan = max(plan, n)
	}
	d.MaybeScanArgs(s.t, "plan", &plan)
	d.MaybeScanArgs(s.t, "as", &as)
	a, ok := s.clients[name].answers[plan]
	if !ok {
		s.printf("%s has no answer for plan %d", name, plan)
		return
	}
	release := bytes.Clone(a.Release)
	if d.HasArg("damage") {
		release[len(release)-1] = 0x7f // The last number is far outside the mechanism's range.
	}
	if d.HasArg("to") {
		d.ScanArgs(s.t, "to", &plan)
	}
	e, err := s.server.Collect(pvi.ClientID(as), plan, release)
	switch {
	case err != nil:
		s.printf("coordinator refuses %s's answer to plan %d: %v", as, plan, err)
	case e == nil:
		s.printf("coordinator takes %s's answer to plan %d and waits for %s", as, plan, list(s.server.Waiting(plan)))
	default:
		s.printf("coordinator takes %s's answer to plan %d", as, plan)
		s.publish(*e)
	}
}

func (s *scene) close(d *datadriven.TestData) {
	var plan int
	if _, err := fmt.Sscan(d.CmdArgs[0].Key, &plan); err != nil {
		d.Fatalf(s.t, "close needs the number of a plan")
	}
	e, err := s.server.Close(plan)
	if err != nil {
		s.printf("coordinator does not close plan %d: %v", plan, err)
		return
	}
	s.publish(*e)
}

func (s *scene) leave(d *datadriven.TestData) {
	for _, name := range s.named(d) {
		s.clients[name].away = true
	}
}

func (s *scene) back(d *datadriven.TestData) {
	for _, name := range s.named(d) {
		c := s.clients[name]
		c.away = false
		s.printf("%s follows %d entries", name, len(s.entries)-c.read)
		s.catchUp(name)
	}
}

func (s *scene) restart(d *datadriven.TestData) {
	for _, arg := range d.CmdArgs {
		if arg.Key == "coordinator" {
			s.save()
			s.restoreServer()
			continue
		}
		name := pvi.ClientID(arg.Key)
		c := s.clients[name]
		state, err := c.site.MarshalBinary()
		s.check(err)
		c.site, err = session.RestoreSite(s.study, s.roster, name, c.records, state)
		s.check(err)
		again, err := c.site.MarshalBinary()
		s.check(err)
		if !bytes.Equal(state, again) {
			s.printf("%s has another state than before", name)
		}
		s.printf("%s restarts", name)
	}
}

func (s *scene) crash(*datadriven.TestData) { s.restoreServer() }

func (s *scene) restoreServer() {
	var err error
	s.server, err = session.RestoreServer(s.study, s.roster, s.saved)
	s.check(err)
	waits := "nobody"
	if open := s.server.Open(); len(open) > 0 {
		waits = list(s.server.Waiting(open[0]))
	}
	s.printf("coordinator restarts and waits for %s", waits)
}

func (s *scene) redeliver(d *datadriven.TestData) {
	var number int
	d.ScanArgs(s.t, "entry", &number)
	e := s.entries[number-1]
	e.Body = bytes.Clone(e.Body)
	d.MaybeScanArgs(s.t, "as-plan", &e.Plan)
	if d.HasArg("flip") {
		var offset int
		d.ScanArgs(s.t, "flip", &offset)
		e.Body[offset] ^= 1
	}
	if d.HasArg("cut") {
		e.Body = e.Body[:len(e.Body)-1]
	}
	for _, name := range s.named(d) {
		err := s.clients[name].site.Follow(e)
		var refused *pvi.Refused
		switch {
		case errors.As(err, &refused):
			s.printf("%s refuses it and is as before: %s", name, refused.Reason)
		case err != nil:
			s.printf("%s stops: %v", name, err)
		default:
			s.printf("%s follows it", name)
		}
	}
}

func (s *scene) status(*datadriven.TestData) {
	soFar, all := s.server.Plans()
	s.printf("coordinator: %d of %d plans published, done: %t", soFar, all, s.server.Done())
	for _, name := range s.roster {
		c := s.clients[name]
		pending := "no plan pending"
		if n, ok := c.site.Pending(); ok {
			pending = fmt.Sprintf("plan %d pending", n)
		}
		s.printf("%s: %s, %d charged releases, done: %t", name, pending, c.site.Releases(), c.site.Done())
	}
}

func (s *scene) result(*datadriven.TestData) {
	r, err := s.server.Result()
	if err != nil {
		s.printf("%v", err)
		return
	}
	for i, name := range r.Names {
		s.printf("%-10s %7.3f ± %.3f", name, r.Mean[i], r.SD[i])
	}
	if r.NoiseAware != nil {
		for i, name := range r.Names {
			s.printf("%-10s %7.3f ± %.3f, noise-aware, %s", name, r.NoiseAware.Mean[i], r.NoiseAware.SD[i], r.NoiseAware.Method)
		}
	}
	want, err := r.Bytes()
	s.check(err)
	same := 0
	for _, c := range s.clients {
		own, err := c.site.Result()
		if err != nil {
			continue
		}
		got, err := own.Bytes()
		s.check(err)
		if bytes.Equal(got, want) {
			same++
		}
	}
	s.printf("%d of %d clients computed the same bytes", same, len(s.clients))
}
