package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// A variant is a study that the tests simulate.
type variant struct {
	name    string
	clients int
	fewest  int // minimum number of answers that the coordinator may add up
	loud    bool
	long    int64 // maximum size in bytes of a value in the coordinator's database; 0 means the default
	parts   linestudy.Parts
}

// variants are small studies, so that many worlds can be simulated:
//
//   - sums with a minimum number of answers;
//   - sums that are mostly noise, so that most rounds are rejected and reused noise is detected;
//   - clients that answer in turn;
//   - several plans at once;
//   - sums whose bodies, states and answers are in files outside the database;
//   - messages that clients sign and everybody adds up;
//   - secure sums of three clients, which must all answer;
//   - secure sums of four clients, one of which may be absent, with long values in files.
var variants = []variant{
	{"sums", 3, 2, false, 0, linestudy.Parts{Inference: constant + "rounds = 3\ndamping = 0.5", Privacy: summed + "noise_multiplier = 0.5\nclip = 20", Federation: "min_clients = 2"}},
	{"loud sums", 3, 2, true, 0, linestudy.Parts{Inference: constant + "rounds = 4\ndamping = 1.0", Privacy: summed + "noise_multiplier = 200\nclip = 0.5", Federation: "min_clients = 2"}},
	{"turns", 3, 1, false, 0, linestudy.Parts{Inference: constant + "rounds = 1\ndamping = 1.0\nschedule = \"sequential\"", Privacy: messages}},
	{"several at once", 4, 1, false, 0, linestudy.Parts{Inference: constant + "rounds = 1\ndamping = 1.0\nschedule = \"asynchronous\"", Privacy: messages}},
	{"sums in files", 3, 2, false, 8, linestudy.Parts{Inference: constant + "rounds = 3\nq = \"diagonal\"\ndamping = 0.5", Privacy: summed + "noise_multiplier = 0.5\nclip = 20", Federation: "min_clients = 2"}},
	{"signed messages", 3, 2, false, 0, linestudy.Parts{Version: 2, Inference: constant + "rounds = 3\ndamping = 0.5\nsolver = \"clipped-analytical\"\nintervals = \"none\"", Privacy: messages, Federation: "min_clients = 2\npace = 0\nmax_rejected = 1000"}},
	{"secure sums of three", 3, 3, false, 0, linestudy.Parts{Inference: constant + "rounds = 3\ndamping = 0.5", Privacy: summed + "noise_multiplier = 0.5\nclip = 20", Federation: secure}},
	{"secure sums of four", 4, 3, false, 8, linestudy.Parts{Inference: constant + "rounds = 3\ndamping = 0.5", Privacy: summed + "noise_multiplier = 0.5\nclip = 20", Federation: secure}},
}

// secureFrom is the index of the first variant with secure sums.
const secureFrom = 6

const (
	summed   = "unit = \"client\"\ndelta = 1e-5\ncoordinates = \"raw\"\n"
	secure   = "aggregation = \"secure\"\nmin_clients = 3\ncolluders = 1"
	constant = "damping_schedule = \"constant\"\n"
	messages = "unit = \"record\"\nnoise_multiplier = 2.0\ndelta = 1e-5"
)

const (
	hubAddress  = "hub.example.org:7443"
	deadline    = 10 * time.Minute
	policyText  = "version = 1\n[coordinators]\nallowed = [%q]\ntrust = false\n[participants]\nminimum = 2\n[dataset.records]\nepsilon = 1000.0\ndelta = 1e-5\n"
	datasetName = "records"
)

// Simulations begin at birth, the time that package synctest's clock shows first.
var birth = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A template is a study with invited clients. Many simulations work on copies of it.
type template struct {
	variant
	dir         string
	document    *study.Study
	hash        transcript.Hash
	names       []pvi.ClientID
	invitations []invitation.Invitation
	sealing     *seal.Key
	coordinator *identity.Identity
	protocol    *pvi.Protocol
	maxRelease  int
}

func newTemplate(dir string, v variant) (*template, error) {
	t := &template{variant: v, dir: dir}
	text := linestudy.Document(v.parts)
	hub, err := coordinator.Open(t.hubDir(), coordinator.Options{Now: func() time.Time { return birth }})
	if err != nil {
		return nil, err
	}
	defer hub.Close()
	s, _, err := hub.Found(coordinator.Founding{File: v.name, Document: text, Addresses: []string{hubAddress}}, nil, 0)
	if err != nil {
		return nil, err
	}
	if t.document, err = study.Parse(v.name, text); err != nil {
		return nil, err
	}
	t.hash = s.Hash()
	if err := t.invite(s); err != nil {
		return nil, err
	}
	policy := fmt.Sprintf(policyText, hub.Fingerprint())
	for m, name := range t.names {
		if err := t.equip(m, name, policy); err != nil {
			return nil, err
		}
	}
	return t, t.learn()
}

func (t *template) hubDir() string { return filepath.Join(t.dir, "coordinator") }

func (t *template) clientDir(name string) string { return filepath.Join(t.dir, name) }

func (t *template) records(name string) string { return filepath.Join(t.dir, name+".csv") }

func (t *template) invite(s *coordinator.Study) error {
	var names []identity.Name
	for m := range t.clients {
		names = append(names, identity.Name(fmt.Sprintf("client-%d", m+1)))
	}
	invited, err := s.Invite(context.Background(), names, 30*24*time.Hour)
	if err != nil {
		return err
	}
	for _, i := range invited {
		parsed, err := invitation.Parse(i.Text)
		if err != nil {
			return err
		}
		t.names, t.invitations = append(t.names, pvi.ClientID(i.Name)), append(t.invitations, parsed)
	}
	return nil
}

func (t *template) equip(m int, name pvi.ClientID, policy string) error {
	var b strings.Builder
	b.WriteString("x,y\n")
	for i := range 12 + m {
		x := float64((i+m)%7)/3.5 - 1
		fmt.Fprintf(&b, "%.3f,%.3f\n", x, 2*x-1)
	}
	dir := t.clientDir(string(name))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), []byte(policy), 0o600); err != nil {
		return err
	}
	return os.WriteFile(t.records(string(name)), []byte(b.String()), 0o600)
}

// learn reads the coordinator's secret keys and derives the study's public protocol. A model needs
// both for its checks.
func (t *template) learn() (err error) {
	if t.sealing, err = seal.Load(nil, filepath.Join(t.hubDir(), "studies", fmt.Sprintf("%x", t.hash), "sealing.key")); err != nil {
		return err
	}
	if t.coordinator, err = identity.Load(nil, filepath.Join(t.hubDir(), "identity.key")); err != nil {
		return err
	}
	if t.protocol, err = session.Public(t.document, t.names); err != nil {
		return err
	}
	t.maxRelease, err = session.MaxRelease(t.document, t.names)
	return err
}
