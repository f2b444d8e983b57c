package client

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/internal/document"
	"fedpvi/internal/private"
	"fedpvi/transport"
)

// PolicyFile is the file name of the policy in a state directory.
const PolicyFile = "policy.toml"

// A Policy lists the actions that the data holder allows. All others are forbidden.
type Policy struct {
	Hash         ledger.Hash // SHA-256 of the policy file
	Coordinators []identity.Fingerprint
	// TrustCoordinator means that the data holder trusts the coordinator to open only the messages
	// that the study permits. Releases are then charged against the observer that the study names.
	// Otherwise they are charged against a coordinator that opens all messages, except with secure
	// aggregation (see Recognised).
	TrustCoordinator bool
	MinParticipants  int
	// Recognised has the fingerprints of clients that the data holder knows. A study with secure
	// aggregation assumes that at most t clients collude. Without TrustCoordinator, it is charged
	// against t colluding clients if the roster has at most t clients that are not recognised. If
	// it has more, the study is charged against a coordinator that opens all messages.
	Recognised []identity.Fingerprint
	// Known has the fingerprints of all clients that may be in a study with this client. They count
	// as recognised. If Known is nil, all clients are allowed.
	Known []identity.Fingerprint
	// ReviewRoster requires the data holder to approve the roster before the first answer.
	ReviewRoster bool
	Datasets     map[string]Dataset
	// RefusePrograms forbids studies whose model is a program in the Stan language.
	RefusePrograms bool
	// MaxHours limits the time that a study may keep this machine busy, in hours. The estimate of
	// this time does not depend on the records. 0 means no limit.
	MaxHours float64
	Proxy    *transport.Proxy // proxy for connections to coordinators; nil if the policy names none
}

// A Dataset has the policy's limits for one data set.
type Dataset struct {
	Promise accountant.Target
	// Unit is the privacy unit: ledger.Record, ledger.Person or ledger.Client. If it is empty, the
	// first study determines it.
	Unit string
	// Person is the column that identifies the person that a row is about, if the unit is
	// ledger.Person. If it is empty, the first study determines it.
	Person string
	Filter string // "auto", ledger.Gaussian or ledger.Renyi
	Order  float64
	// Public means that the records are not secret. A study without privacy can then use them free
	// of charge.
	Public bool
}

const policyVersion = 1

// LoadPolicy reads the policy in a state directory. It refuses a symbolic link, and a file or
// directory that other users can access. The error lists all problems in the file, each with its
// line.
func LoadPolicy(dir string) (*Policy, error) {
	path := filepath.Join(dir, PolicyFile)
	source, err := private.Read(path, document.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Refusal{path + " is missing: without a policy nothing is allowed; client join writes one"}
	}
	if err != nil {
		return nil, &UsageError{err}
	}
	return ParsePolicy(path, source)
}

// ParsePolicy parses a policy. The name is only for error messages.
func ParsePolicy(name string, source []byte) (*Policy, error) {
	doc, err := document.Parse(name, source)
	if err != nil {
		return nil, &UsageError{err}
	}
	root := doc.Root()
	root.Require("version", fmt.Sprintf("write version = %d", policyVersion))
	if v, ok := root.Int("version"); ok && v != policyVersion {
		root.Errorf("version", "version %d is not supported, only %d", v, policyVersion)
	}
	p := &Policy{Hash: sha256.Sum256(source), MinParticipants: defaultParticipants, Datasets: map[string]Dataset{}}
	coordinators := root.Table("coordinators")
	p.TrustCoordinator, _ = coordinators.Bool("trust")
	p.Coordinators = readFingerprints(coordinators, "allowed")
	if programs, ok := root.Choice("programs", "allow", "refuse"); ok {
		p.RefusePrograms = programs == "refuse"
	}
	participants := root.Table("participants")
	if n, ok := participants.Int("minimum"); ok {
		if p.MinParticipants = n; n < 1 {
			participants.Errorf("minimum", "must be at least 1, got %d", n)
		}
	}
	p.Recognised = readFingerprints(participants, "recognised")
	if participants.Has("known") {
		p.Known = append([]identity.Fingerprint{}, readFingerprints(participants, "known")...)
		p.Recognised = append(p.Recognised, p.Known...)
	}
	p.ReviewRoster, _ = participants.Bool("review")
	if text, ok := root.Table("network").String("proxy"); ok {
		if p.Proxy, err = transport.ParseProxy(text); err != nil {
			root.Table("network").Errorf("proxy", "%v", err)
		}
	}
	if h, ok := root.Table("compute").Float("max_hours"); ok {
		if p.MaxHours = h; !(h > 0) {
			root.Table("compute").Errorf("max_hours", "must be above 0, got %g", h)
		}
	}
	datasets := root.Table("dataset")
	for _, name := range datasets.Keys() {
		if _, err := identity.ParseName(name); err != nil {
			datasets.Errorf(name, "is not a name for a data set: %v", err)
		}
		p.Datasets[name] = readDataset(datasets.Table(name))
	}
	if err := doc.Err(); err != nil {
		return nil, &UsageError{err}
	}
	return p, nil
}

const defaultParticipants = 2

func readFingerprints(t *document.Table, key string) (all []identity.Fingerprint) {
	texts, _ := t.Strings(key)
	for _, text := range texts {
		var f identity.Fingerprint
		if err := f.UnmarshalText([]byte(text)); err != nil {
			t.Errorf(key, "%q is not a fingerprint: write its 64 hexadecimal digits", text)
			continue
		}
		all = append(all, f)
	}
	return all
}

func readDataset(t *document.Table) Dataset {
	d := Dataset{Filter: "auto"}
	t.Require("epsilon", "write the ε that all studies together may spend on this data set, as in epsilon = 1.0")
	t.Require("delta", "write the δ at which epsilon counts, as in delta = 1e-5")
	d.Promise.Epsilon, _ = t.Float("epsilon")
	d.Promise.Delta, _ = t.Float("delta")
	if t.Has("epsilon") && t.Has("delta") {
		if err := d.Promise.Check(); err != nil {
			t.Errorf("", "%v", err)
		}
	}
	d.Unit, _ = t.Choice("unit", ledger.Record, ledger.Person, ledger.Client)
	if d.Person, _ = t.String("person"); d.Person != "" && d.Unit != ledger.Person {
		t.Errorf("person", "belongs to the unit %q: write unit = %[1]q as well", ledger.Person)
	}
	d.Public, _ = t.Bool("public")
	if f, ok := t.Choice("filter", "auto", ledger.Gaussian, ledger.Renyi); ok {
		d.Filter = f
	}
	if order, ok := t.Float("order"); ok {
		if d.Order = order; !(order > 1) {
			t.Errorf("order", "must be above 1, got %g", order)
		}
		if d.Filter != ledger.Renyi {
			t.Errorf("order", "belongs to a Rényi filter: write filter = %q as well", ledger.Renyi)
		}
	}
	return d
}

// Allows reports whether the policy lists the coordinator with the given fingerprint.
func (p *Policy) Allows(f identity.Fingerprint) bool { return slices.Contains(p.Coordinators, f) }

// strangers returns all clients in a roster that the policy does not recognise, except own.
func (p *Policy) strangers(members *roster.Roster, own identity.Name) (all []roster.Entry) {
	for _, e := range members.Entries {
		if e.Role == identity.Client && e.Name != own && !slices.Contains(p.Recognised, e.Key.Fingerprint()) {
			all = append(all, e)
		}
	}
	return all
}

// fewestStrangers returns how many strangers there are if all recognised clients take part.
func (p *Policy) fewestStrangers(clients int) int { return max(0, clients-1-len(p.Recognised)) }

// dataset returns a data set from the policy. If name is empty, it returns the only one.
func (p *Policy) dataset(name string) (string, Dataset, error) {
	names := slices.Sorted(maps.Keys(p.Datasets))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	d, ok := p.Datasets[name]
	switch {
	case ok:
		return name, d, nil
	case len(names) == 0:
		return "", d, &Refusal{"the policy names no data set: add [dataset.NAME] with epsilon and delta to " + PolicyFile}
	case name == "":
		return "", d, &UsageError{fmt.Errorf("the policy has the data sets %s: choose one with --dataset", strings.Join(names, ", "))}
	}
	return "", d, &Refusal{fmt.Sprintf("the policy has no data set %q (it has %s): add [dataset.%s] with epsilon and delta to %s", name, strings.Join(names, ", "), name, PolicyFile)}
}

// WritePolicy writes a policy with explanations to the state directory if it has none, and reports
// whether it did. The policy allows one coordinator. It has one data set, with the name "records"
// and the privacy limit promise.
func WritePolicy(dir string, coordinator identity.Fingerprint, promise accountant.Target) (written bool, err error) {
	text := fmt.Sprintf(policyText, policyVersion, coordinator, defaultParticipants, promise.Epsilon, promise.Delta)
	err = private.Create(filepath.Join(dir, PolicyFile), []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

const policyText = `# This policy lists what the data holder allows. Everything else is refused. The file is
# yours: no coordinator can change it. After each change you approve your studies again.
version = %d
# programs = "allow"   # "refuse" refuses studies whose model is a program; client review prints it

[coordinators]
# Fingerprints of the coordinators whose studies may be approved. The first one is from the
# invitation that this file was made with: compare it over another channel with the one that
# the coordinator's people give you.
allowed = ["%s"]
# true: releases are charged on the assumption that the coordinator opens only what a study
# permits. false: they are charged for a coordinator that opens every message.
trust = false

[network]
# Connections to coordinators go through this HTTP or SOCKS5 proxy. Without this line, they go
# through the proxy in the environment variable HTTPS_PROXY, if it names one.
# proxy = "http://proxy.example.org:3128"

[compute]
# A study that would compute for longer on this machine is refused. client review gives the
# estimate, which follows from federation.max_records and never from your records.
# max_hours = 8

[participants]
# A study with fewer clients is refused.
minimum = %d
# recognised = []      # fingerprints of clients whose people told you theirs over another
                       # channel. A study with federation.aggregation = "secure" is charged
                       # against colluding clients, and not against the coordinator, if at
                       # most federation.colluders of its other clients are missing here
# known = []           # fingerprints of all clients with which this one takes part: a study with
                       # any other client is refused before the first answer
# review = true        # the run stops when the clients are known, until you approve them

# A data set, with a name of your choice. Its budget also covers later exports of the records:
# never give the same records a second name. All studies together may spend epsilon, at delta.
# An existing budget is never raised; a lower epsilon here takes effect.
[dataset.records]
epsilon = %g
delta = %g
# unit = "record"      # or "person", or "client", the whole data set; default: that of the first
                       # study
# person = "patient"   # with unit = "person": the column that identifies the person of each row;
                       # default: that of the first study
# filter = "auto"      # "gaussian" is lossless and admits Gaussian releases only, "renyi"
                       # admits all releases; "auto" chooses for the first study
# public = true        # the records are not secret: studies without a privacy promise may
                       # use them
`
