package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/transcript"
	"fedpvi/dpmech"
	"fedpvi/gpu/device"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/testing/noise"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
	"fedpvi/sim"
	"fedpvi/transport"
)

// federated is a template for a study file with generated records. Tests replace the words that
// begin with #.
const federated = `
[study]
version = 1
name = "federated"
[[column]]
name = "x"
type = "numeric"
bounds = [-3, 3]
outside = "clamp"
[[column]]
name = "z"
type = "categorical"
levels = ["a", "b"]
[[column]]
name = "y"
type = "#outcome"
#levels
[model]
outcome = "y"
terms = ["x", "z"]
#model
[prior]
sd = 2.0
[inference]
#inference
[privacy]
#privacy
[federation]
#federation
[simulation]
clients = 3
[simulation.synthetic]
records_per_client = 30
columns.x = { mean = 0, sd = 1 }
`

const (
	linear   = "linear"
	logistic = "logistic"
)

func federatedStudy(model, inference, privacy, federation string) []byte {
	kind, levels, family := "numeric", "bounds = [-20, 20]\noutside = \"clamp\"", "family = \"linear\"\nnoise_sd = 1.0"
	if model == logistic {
		kind, levels, family = "categorical", `levels = ["no", "yes"]`, "family = \"logistic\"\npositive = \"yes\""
	}
	return []byte(strings.NewReplacer("#outcome", kind, "#levels", levels, "#model", family,
		"#inference", inference, "#privacy", privacy, "#federation", federation).Replace(federated))
}

// A realNetwork is a coordinator and some clients on one machine, connected by TLS.
type realNetwork struct {
	t        *testing.T
	document *study.Study
	hub      *coordinator.Hub
	study    *coordinator.Study
	address  string
	hubDir   string
	records  string // folder with the clients' record files
	clients  []identity.Name
	gossip   string // address on which clients gossip; empty for none
	device   device.Source
	log      *slog.Logger // log of all clients; nil for none
	now      func() time.Time
	refuse   error // unless nil, every connection attempt returns this error
}

const federationSeed = 7

// simulated runs a study in the simulator. It returns the study, a folder with each client's
// records, the outcomes, and the posterior's natural parameters.
func simulated(t *testing.T, source []byte) (st *study.Study, folder string, outcomes []pvi.Outcome, natural []float64) {
	t.Helper()
	return simulatedOn(t, source, nil)
}

// simulatedOn is like simulated, but the private gradient steps are computed on devices until these
// fail.
func simulatedOn(t *testing.T, source []byte, devices []device.Device) (st *study.Study, folder string, outcomes []pvi.Outcome, natural []float64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "study.toml")
	check(t, os.WriteFile(file, source, 0o600))
	st, err := study.Parse(file, source)
	check(t, err)
	o := sim.Options{StudyFile: file, Seed: federationSeed, Workers: 1}
	folder = filepath.Join(t.TempDir(), "records")
	_, err = sim.Deal(st, o, folder)
	check(t, err)
	p, err := sim.NewPlay(st, o)
	check(t, err)
	check(t, p.Federation.UseDevices(devices, func(error) error { return nil }))
	r, err := p.Run(t.Context(), func(s sim.Status) error {
		outcomes = append(outcomes, *s.Outcome)
		return nil
	})
	check(t, err)
	return st, folder, outcomes, r.Natural
}

// newRealNetwork starts a coordinator. It also makes clients, which join and approve the study.
func newRealNetwork(t *testing.T, st *study.Study, records string) *realNetwork {
	t.Helper()
	return newNetworkBehind(t, st, records, func(n *realNetwork) transport.Coordinator { return n.study })
}

// newNetworkBehind is like newRealNetwork, but the clients talk to the coordinator that front
// returns.
func newNetworkBehind(t *testing.T, st *study.Study, records string, front func(n *realNetwork) transport.Coordinator) *realNetwork {
	t.Helper()
	return newNetworkAt(t, st, records, coordinator.Options{Now: time.Now}, front)
}

// newNetworkAt is like newNetworkBehind, but the coordinator is configured by o, and the clients
// use its clock.
func newNetworkAt(t *testing.T, st *study.Study, records string, o coordinator.Options, front func(n *realNetwork) transport.Coordinator) *realNetwork {
	t.Helper()
	n := &realNetwork{t: t, document: st, hubDir: filepath.Join(t.TempDir(), "hub"), records: records, now: o.Now}
	hub, err := coordinator.Open(n.hubDir, o)
	check(t, err)
	t.Cleanup(func() { check(t, hub.Close()) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	n.hub, n.address = hub, l.Addr().String()
	n.study, _, err = hub.Found(coordinator.Founding{File: "study.toml", Document: st.Source, Addresses: []string{n.address}}, nil, 0)
	check(t, err)
	n.serve(l, front(n))
	for m := range st.Simulation.Clients {
		n.clients = append(n.clients, identity.Name(fmt.Sprintf("client-%d", m+1)))
	}
	invited, err := n.study.Invite(t.Context(), n.clients, time.Hour)
	check(t, err)
	for m, i := range invited {
		n.join(m, i.Text)
	}
	return n
}

func (n *realNetwork) serve(l net.Listener, front transport.Coordinator) {
	server, err := transport.NewServer(transport.ServerConfig{RoundDeadline: time.Minute})
	check(n.t, err)
	check(n.t, server.Add(transport.Study{
		Document: n.study.Hash(), TLS: n.study.TLS, Coordinator: front, MaxRelease: n.study.LargestBody(), Seen: n.study.Seen,
	}))
	n.study.OnDrop(server.Drop)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	n.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		if err := <-done; err != nil {
			n.t.Error(err)
		}
	})
}

func (n *realNetwork) open(m int) *client.Client {
	n.t.Helper()
	c, err := client.Open(client.Options{
		Dir: filepath.Join(n.records, string(n.clients[m])+".state"), Program: "test 1", Command: "a test", Now: n.now, Create: true,
		Log: n.log,
	})
	check(n.t, err)
	c.SeedNoise(func(ask int) *dpmech.Stream { return noise.Of(n.document, len(n.clients), federationSeed, m, ask) })
	return c
}

// join makes client m join the study and approve it under a policy that trusts the coordinator.
func (n *realNetwork) join(m int, text string) {
	n.t.Helper()
	c := n.open(m)
	defer c.Close()
	i, err := invitation.Parse(text)
	check(n.t, err)
	guest, err := c.DialGuest(n.t.Context(), i, client.Network{})
	check(n.t, err)
	defer guest.Close()
	member, _, err := c.Join(n.t.Context(), i, guest, wide)
	check(n.t, err)
	path := filepath.Join(n.records, string(n.clients[m])+".state", client.PolicyFile)
	policy, err := os.ReadFile(path)
	check(n.t, err)
	policy = append(bytes.ReplaceAll(policy, []byte("\ntrust = false"), []byte("\ntrust = true")), "public = true\n"...)
	check(n.t, os.WriteFile(path, policy, 0o600))
	p, err := client.LoadPolicy(filepath.Dir(path))
	check(n.t, err)
	_, err = c.Approve(member, p, "", member.Hash.String())
	check(n.t, err)
}

func (n *realNetwork) run(ctx context.Context, m int) (*client.Ending, error) {
	c := n.open(m)
	defer c.Close()
	member, err := c.Member("")
	if err != nil {
		return nil, err
	}
	member.Addresses = []string{n.address}
	policy, err := client.LoadPolicy(filepath.Join(n.records, string(n.clients[m])+".state"))
	if err != nil {
		return nil, err
	}
	return c.Run(ctx, client.Run{
		Member: member, Policy: policy, Data: origin.Source{From: filepath.Join(n.records, string(n.clients[m])+".csv")},
		Connect: func(ctx context.Context) (client.Link, io.Closer, error) {
			if n.refuse != nil {
				return nil, nil, n.refuse
			}
			line, err := c.Dial(ctx, member, client.Network{})
			return line, line, err
		},
		Wait:   func(context.Context, time.Duration) error { return errors.New("a test must not wait") },
		Gossip: n.gossip, Device: n.device,
	})
}

func (n *realNetwork) play() []*client.Ending {
	n.t.Helper()
	endings, errs := n.runAll()
	for m, err := range errs {
		if err != nil {
			n.t.Errorf("%s: %v", n.clients[m], err)
		}
	}
	return endings
}

// finds plays the study and checks that each client ends with the given natural parameters.
func (n *realNetwork) finds(natural []float64) {
	n.t.Helper()
	endings := n.play()
	if n.t.Failed() {
		n.t.FailNow()
	}
	for m, e := range endings {
		var result struct {
			Natural []float64 `json:"natural"`
		}
		check(n.t, json.Unmarshal(e.Result, &result))
		if diff := cmp.Diff(natural, result.Natural, sameBits); diff != "" {
			n.t.Errorf("the posterior of %s (-simulator +daemon):\n%s", n.clients[m], diff)
		}
	}
}

var sameBits = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

func (n *realNetwork) runAll() ([]*client.Ending, []error) {
	endings, errs := make([]*client.Ending, len(n.clients)), make([]error, len(n.clients))
	var wg sync.WaitGroup
	for m := range n.clients {
		wg.Go(func() { endings[m], errs[m] = n.run(n.t.Context(), m) })
	}
	wg.Wait()
	return endings, errs
}

func (n *realNetwork) outcomes() (all []pvi.Outcome) {
	n.t.Helper()
	peer := channel.Party{Study: n.study.Hash(), Role: identity.Client, Name: n.clients[0]}
	status, err := n.study.Status(n.t.Context())
	check(n.t, err)
	for number := uint64(1); number <= status.Entries; number++ {
		item, err := n.study.Entry(n.t.Context(), peer, number)
		check(n.t, err)
		body := item.Body
		if a, err := transcript.ParseAnswered(body); err == nil && n.document.Version > 1 {
			body = a.Outcome
		}
		if o, err := wire.ReadOutcome(body, wire.Limits{Elements: 100, Clients: 10, Name: 40}); err == nil {
			all = append(all, *o)
		}
	}
	return all
}

func TestSimulatorAndDaemonsAgree(t *testing.T) {
	const (
		record = "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5"
		holder = "unit = \"client\"\nepsilon = 8.0\ndelta = 1e-5\nclip = 20.0"
		sums   = "nominal_records = 30\nopens = \"sums\""
	)
	for name, source := range map[string][]byte{
		"records of a linear model":   federatedStudy(linear, "rounds = 2", record, ""),
		"data sets":                   federatedStudy(linear, "rounds = 3", holder, ""),
		"records, sequential":         federatedStudy(linear, "rounds = 2\nschedule = \"sequential\"", record, ""),
		"no promise":                  federatedStudy(logistic, "rounds = 3\ndamping = 0.5", `unit = "none"`, ""),
		"no promise, sequential":      federatedStudy(logistic, "rounds = 2\nschedule = \"sequential\"", `unit = "none"`, ""),
		"gradient steps":              federatedStudy(logistic, "rounds = 2\nsteps = 3", record, ""),
		"gradient steps and one-step": federatedStudy(logistic, "rounds = 2\nsteps = 3\nnoise_aware = \"one-step\"", record, ""),
		"sums of gradients":           federatedStudy(logistic, "rounds = 4", record, sums),
		"sums of gradients, secure":   federatedStudy(logistic, "rounds = 4", record, sums+"\naggregation = \"secure\""),
		"records, secure data sets":   federatedStudy(linear, "rounds = 3", holder, "aggregation = \"secure\""),
		"propagation":                 federatedStudy(logistic, "solver = \"dp-sep\"\nrounds = 2\nsteps = 3", record, ""),
		"propagation, sequential":     federatedStudy(logistic, "solver = \"dp-sep\"\nq = \"full\"\nschedule = \"sequential\"\nrounds = 2\nsteps = 2", record, ""),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !strings.HasPrefix(name, "records") {
				t.Skip("two kinds of study are enough under the race detector: run without -short")
			}
			t.Parallel()
			st, records, outcomes, natural := simulated(t, source)
			n := newRealNetwork(t, st, records)
			n.finds(natural)
			if diff := cmp.Diff(outcomes, n.outcomes(), sameBits); diff != "" {
				t.Errorf("outcomes (-simulator +daemons):\n%s", diff)
			}
		})
	}
}
