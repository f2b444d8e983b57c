package client

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/internal/document"
)

// PolicyFile is the name of the policy in a state directory.
const PolicyFile = "policy.toml"

// A Policy lists the actions that the data holder allows. All other actions are refused.
type Policy struct {
	Hash         ledger.Hash // SHA-256 of the policy file
	Coordinators []identity.Fingerprint
	// TrustCoordinator states that the coordinator opens only the messages that the study
	// permits. Releases are then charged for the observer that the study names. Otherwise they
	// are charged for a coordinator that opens every message.
	TrustCoordinator bool
	MinParticipants  int // minimum number of clients in a study
	Datasets         map[string]Dataset
}

// A Dataset contains the limits for one data set in the policy.
type Dataset struct {
	Promise accountant.Target
	Unit    string // privacy unit, ledger.Record or ledger.Client; empty for the unit of the first study
	Filter  string // "auto", ledger.Gaussian or ledger.Renyi
	Order   float64
	// Public states that the records are not secret. A study without privacy may then use them,
	// at no cost.
	Public bool
}

const policyVersion = 1

// LoadPolicy reads the policy of a state directory. Its error lists every problem with its file
// and line.
func LoadPolicy(dir string) (*Policy, error) {
	path := filepath.Join(dir, PolicyFile)
	source, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Refusal{path + " is missing: without a policy nothing is allowed; client join writes one"}
	}
	if err != nil {
		return nil, err
	}
	return ParsePolicy(path, source)
}

// ParsePolicy parses a policy. The name appears only in error messages.
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
	p.readCoordinators(root.Table("coordinators"))
	participants := root.Table("participants")
	if n, ok := participants.Int("minimum"); ok {
		if p.MinParticipants = n; n < 1 {
			participants.Errorf("minimum", "must be at least 1, got %d", n)
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

// defaultParticipants is the default minimum number of clients. A study of a single client has
// no purpose.
const defaultParticipants = 2

func (p *Policy) readCoordinators(t *document.Table) {
	if trust, ok := t.Bool("trust"); ok {
		p.TrustCoordinator = trust
	}
	allowed, _ := t.Strings("allowed")
	for _, text := range allowed {
		var f identity.Fingerprint
		if err := f.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("allowed", "%q is not a fingerprint: write its 64 hexadecimal digits", text)
			continue
		}
		p.Coordinators = append(p.Coordinators, f)
	}
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
	d.Unit, _ = t.Choice("unit", ledger.Record, ledger.Client)
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

// dataset returns the data set with the given name. If the policy has one data set, an empty name
// selects it.
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

// WritePolicy writes a policy with explanations if the state directory has none, and reports
// whether it wrote one. The policy allows one coordinator. It has a data set named "records"
// with the given promise.
func WritePolicy(dir string, coordinator identity.Fingerprint, promise accountant.Target) (written bool, err error) {
	path := filepath.Join(dir, PolicyFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(f, policyText, policyVersion, coordinator, defaultParticipants, promise.Epsilon, promise.Delta)
	return true, errors.Join(err, f.Sync(), f.Close())
}

const policyText = `# This policy lists what the data holder allows. Everything else is refused. The file is
# yours: no coordinator can change it. After each change you approve your studies again.
version = %d

[coordinators]
# Fingerprints of the coordinators whose studies may be approved. The first one is from the
# invitation that this file was made with: compare it over another channel with the one that
# the coordinator's people give you.
allowed = ["%s"]
# true: releases are charged on the assumption that the coordinator opens only what a study
# permits. false: they are charged for a coordinator that opens every message.
trust = false

[participants]
# A study with fewer clients is refused.
minimum = %d

# A data set, with a name of your choice. Its budget also covers later exports of the records:
# never give the same records a second name. All studies together may spend epsilon, at delta.
# An existing budget is never raised; a lower epsilon here takes effect.
[dataset.records]
epsilon = %g
delta = %g
# unit = "record"      # or "client", the whole data set; default: that of the first study
# filter = "auto"      # "gaussian" is lossless and admits Gaussian releases only, "renyi"
                       # admits all releases; "auto" chooses for the first study
# public = true        # the records are not secret: studies without a privacy promise may
                       # use them
`
