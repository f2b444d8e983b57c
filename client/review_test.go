package client_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/crypto/identity"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
)

func TestReviewMatchesTheStudy(t *testing.T) {
	for name, source := range map[string][]byte{
		"record": planeStudy(recordPrivacy, "", ""),
		"client": planeStudy(clientPrivacy, "", ""),
		"secure": planeStudy(clientPrivacy, "", secureFederation+"colluders = 1"),
	} {
		t.Run(name, func(t *testing.T) {
			names := []identity.Name{"north", "south"}
			if name == "secure" {
				names = append(names, "west") // with one colluder, a study needs at least two other clients
			}
			h, all := federation(t, source, names...)
			p := all[0]
			before := p.review()
			costs, err := session.Costs(h.study, ids(names))
			check(t, err)
			if len(before.Privacy.Observers) != len(costs) || before.Privacy.Observers[0].Epsilon != costs[0].Epsilon {
				t.Errorf("costs %+v, want %+v", before.Privacy.Observers, costs)
			}
			if secure := strings.Contains(before.Study.Read, "more than 1 client (the number is fixed when the study begins, and is not smaller)"); secure != (name == "secure") {
				t.Errorf("before the roster is known: %s", before.Study.Read)
			}
			h.begin()
			play(t, all)
			messages, bytes := 0, 0
			for key, item := range h.releases {
				if key.client == p.name {
					messages, bytes = messages+1, len(item.Envelope)+len(item.Body)
				}
			}
			if h.sums != nil {
				bytes = max(bytes, len(h.sums.keys[1].Envelope)+len(h.sums.keys[1].Body))
			}
			if l := before.Leaves; l.Messages < messages || l.Bytes < bytes || l.Bytes > bytes+3072 || l.Dealt != (name == "secure") {
				t.Errorf("%d messages of %d bytes were sent, and the review said %+v", messages, bytes, l)
			}
			a := p.account()
			if q := before.Privacy.Quote; math.Abs(a.Spent/q.Cost-1) > 1e-9 || math.Abs(a.Epsilon/q.EpsilonAfter-1) > 1e-9 {
				t.Errorf("spent %g, ε %g, and the review said %+v", a.Spent, a.Epsilon, q)
			}
			if after := p.review(); after.Privacy.Quote.Cost != a.Studies[0].Spent || len(after.Clients) != len(names) || !after.Approved {
				t.Errorf("afterwards the review says %+v", after)
			}
		})
	}
}

func ids(names []identity.Name) (all []pvi.ClientID) {
	for _, name := range names {
		all = append(all, pvi.ClientID(name))
	}
	return all
}

//abuse:case A22 unless the policy trusts the coordinator the charge counts only the client's own noise
func TestObserverOfTheCharge(t *testing.T) {
	for _, c := range []struct{ privacy, federation, trust, view string }{
		{recordPrivacy, "", "false", "anyone"},
		{recordPrivacy, "", "true", "anyone"},
		{clientPrivacy, "", "false", "coordinator"},
		{clientPrivacy, "", "true", "participant"},
		{clientPrivacy, "min_clients = 2\ncolluders = 1", "true", "coalition"},
		{clientPrivacy, "min_clients = 2\ncolluders = 1", "false", "coordinator"},
	} {
		h := newHub(t, planeStudy(c.privacy, "", c.federation))
		p := newHolder(t, h, "north", 0)
		p.edit("trust = false", "trust = "+c.trust)
		r := p.review()
		if r.Terms.View != c.view {
			t.Errorf("%+v: charged against %s", c, r.Terms.View)
		}
		for _, o := range r.Privacy.Observers {
			// The two values of ε must be equal, because the policy and the study have the same δ
			// and all releases are Gaussian.
			if o.View.Name == c.view && o.Adjacency == r.Terms.Adjacency && math.Abs(r.Privacy.Quote.EpsilonAfter/o.Epsilon-1) > 1e-6 {
				t.Errorf("%+v: ε %g, and the study says %g", c, r.Privacy.Quote.EpsilonAfter, o.Epsilon)
			}
		}
	}
}

func TestTheTextOfAReview(t *testing.T) {
	h := newHub(t, planeStudy(clientPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	for _, want := range []string{
		"A plane plane, sha256 " + h.hash().String(),
		"Coordinator hub at hub.example.org:7443. Fingerprint " + h.identity.Fingerprint().String(),
		"linear regression of y on 2 coefficients", "takes part as north", "At most 3 messages of",
		"one client's whole data set: replacing its contribution by zero", "ε at δ = 1e-05: 0 before this study",
		"client approve --yes " + h.hash().String()[:12],
	} {
		if got := p.reviewText(); !strings.Contains(got, want) {
			t.Fatalf("%q is not in\n%s", want, got)
		}
	}
	p.edit("epsilon = 40", "epsilon = 0.5")
	if got := p.reviewText(); !strings.Contains(got, "It cannot be approved - the budget of the data set records: the release costs") || strings.Contains(got, "--yes") {
		t.Errorf("beyond the cap the review is\n%s", got)
	}
}

func TestPolicies(t *testing.T) {
	const fingerprint = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct{ source, says string }{
		"empty":           {"", "version: is missing"},
		"a newer one":     {"version = 2", "version 2 is not supported"},
		"an unknown key":  {"version = 1\n[coordinators]\nallow = []", "coordinators.allow"},
		"no fingerprint":  {"version = 1\n[coordinators]\nallowed = [\"abc\"]", "policy.toml:3:1: coordinators.allowed: \"abc\" is not a fingerprint"},
		"no participants": {"version = 1\n[participants]\nminimum = 0", "at least 1"},
		"no promise":      {"version = 1\n[dataset.ward]\nepsilon = 1.0", "dataset.ward.delta: is missing"},
		"no cap":          {"version = 1\n[dataset.ward]\nepsilon = inf\ndelta = 1e-5", "finite"},
		"a negative cap":  {"version = 1\n[dataset.ward]\nepsilon = -1.0\ndelta = 1e-5", "epsilon must be positive"},
		"a path":          {"version = 1\n[dataset.\"../ward\"]\nepsilon = 1.0\ndelta = 1e-5", "is not a name"},
		"an odd unit":     {"version = 1\n[dataset.ward]\nepsilon = 1.0\ndelta = 1e-5\nunit = \"ward\"", "unknown"},
		"an order":        {"version = 1\n[dataset.ward]\nepsilon = 1.0\ndelta = 1e-5\norder = 3.0", "belongs to a Rényi filter"},
		"no toml":         {"version", "policy.toml:1"},
		"no proxy":        {"version = 1\n[network]\nproxy = \"proxy.example.org\"", "policy.toml:3:1: network.proxy: the address of a proxy is"},
	} {
		_, err := client.ParsePolicy("policy.toml", []byte(c.source))
		if client.CodeOf(err) != client.Usage || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := client.ParsePolicy("policy.toml", []byte("version = 1\n[coordinators]\nallowed = [\""+fingerprint+"\"]\ntrust = true\n[dataset.ward]\nepsilon = 2.0\ndelta = 1e-6\nfilter = \"renyi\"\norder = 8.0"))
	check(t, err)
	var f identity.Fingerprint
	check(t, f.UnmarshalText([]byte(fingerprint)))
	if !p.Allows(f) || p.Allows(identity.Fingerprint{}) || !p.TrustCoordinator || p.MinParticipants != 2 || p.Datasets["ward"].Order != 8 {
		t.Errorf("read as %+v", p)
	}
}

func TestTheFirstPolicy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	promise := accountant.Target{Epsilon: 1, Delta: 1e-5}
	for _, want := range []bool{true, false} {
		wrote, err := client.WritePolicy(dir, identity.Fingerprint{1}, promise)
		if wrote != want || err != nil {
			t.Fatalf("written: %v, %v", wrote, err)
		}
	}
	p, err := client.LoadPolicy(dir)
	check(t, err)
	if !p.Allows(identity.Fingerprint{1}) || len(p.Coordinators) != 1 || p.TrustCoordinator || p.Datasets["records"].Promise != promise {
		t.Errorf("read as %+v", p)
	}
	check(t, os.Chmod(filepath.Join(dir, client.PolicyFile), 0o644))
	if _, err := client.LoadPolicy(dir); client.CodeOf(err) != client.Usage || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a policy that others can read: %v", err)
	}
	check(t, os.Chmod(filepath.Join(dir, client.PolicyFile), 0o600))
	check(t, os.Chmod(dir, 0o755))
	if _, err := client.LoadPolicy(dir); client.CodeOf(err) != client.Usage || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a policy that others can replace: %v", err)
	}
	check(t, os.Chmod(dir, 0o700))
	check(t, os.Rename(filepath.Join(dir, client.PolicyFile), filepath.Join(dir, "elsewhere")))
	check(t, os.Symlink("elsewhere", filepath.Join(dir, client.PolicyFile)))
	if _, err := client.LoadPolicy(dir); client.CodeOf(err) != client.Usage || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a policy that is a link: %v", err)
	}
	check(t, os.Remove(filepath.Join(dir, client.PolicyFile)))
	if _, err := client.LoadPolicy(dir); client.CodeOf(err) != client.Declined {
		t.Errorf("without a policy: %v", err)
	}
}

func TestTheDoctor(t *testing.T) {
	_, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	examine := func() []client.Finding {
		c := p.open()
		defer c.Close()
		return c.Examine(t.Context(), client.Examination{Data: origin.Source{From: p.data}, Program: "test"})
	}
	if all := examine(); !client.Healthy(all) {
		t.Errorf("%+v", all)
	}
	p.edit("minimum = 2", "minimum = 1")
	check(t, os.WriteFile(p.data, []byte("x,z\n1,2\n"), 0o600))
	failed := map[string]bool{}
	for _, f := range examine() {
		failed[f.Check] = !f.OK
		if !f.OK && f.Fix == "" {
			t.Errorf("%s fails without a remedy", f.Check)
		}
	}
	if !failed["approval"] || !failed["records"] || failed["ledger"] {
		t.Errorf("failed: %v", failed)
	}
}
