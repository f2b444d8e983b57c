package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fedpvi/crypto/keyfile"
	"fedpvi/internal/table/origin"
)

// A Finding is the result of one check by [Client.Examine].
type Finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

func passed(check, found string, args ...any) Finding {
	return Finding{Check: check, OK: true, Found: fmt.Sprintf(found, args...)}
}

func failed(check string, err error, fix string) Finding {
	return Finding{Check: check, Found: err.Error(), Fix: fix}
}

// An Examination is the configuration of [Client.Examine].
type Examination struct {
	Study string        // name or first digits of the digest; empty for the only study
	Data  origin.Source // table of records; if zero, the check is skipped
	// Connect connects to the coordinator. If it is nil, Examine skips this check.
	Connect func(ctx context.Context, m *Member) (Link, func() error, error)
	Program string
}

// Examine checks everything that a run needs. It returns a Finding for each check, and if a check
// failed, the Finding has a remedy. The state directory and the ledger always pass, because Open
// has already checked them.
func (c *Client) Examine(ctx context.Context, x Examination) []Finding {
	sequence, head := c.store.Head()
	all := []Finding{
		passed("program", "%s", x.Program),
		passed("state directory", "%s, accessible to its owner only", c.dir),
		c.examineIdentity(),
		c.examineKeys(),
		passed("ledger", "%d entries, every signature, link and cost checked, and up to date with its anchor; head %.16s. "+
			"If the whole directory was replaced by an older copy, only the coordinator can detect it", sequence, head),
		c.examineDisk(),
	}
	if err := c.halted(); err != nil {
		return append(all, failed("rollback", err, "replace this state directory by the newest one"))
	}
	p, err := LoadPolicy(c.dir)
	if err != nil {
		all = append(all, failed("policy", err, "mend "+filepath.Join(c.dir, PolicyFile)))
	} else {
		all = append(all, passed("policy", "%d coordinators allowed, %d data sets, at least %d clients", len(p.Coordinators), len(p.Datasets), p.MinParticipants))
	}
	m, err := c.Member(x.Study)
	if err != nil {
		return append(all, failed("study", err, "run client join INVITATION"))
	}
	all = append(all, passed("study", "%s, sha256 %s", m.Study.Name, m.Hash))
	if p != nil {
		all = append(all, c.examineStudy(m, p)...)
		all = append(all, c.examineHours(m, p))
	}
	if x.Data.From != "" {
		all = append(all, c.examineData(ctx, m, x.Data))
	}
	if x.Connect != nil {
		all = append(all, c.examineLink(ctx, m, x.Connect)...)
	}
	return all
}

func (c *Client) examineIdentity() Finding {
	f, err := c.Fingerprint()
	if err != nil {
		return failed("identity", err, "restore it from a backup")
	}
	return passed("identity", "fingerprint %s", f)
}

// examineKeys accepts unprotected key files, because the disk may be encrypted.
func (c *Client) examineKeys() Finding {
	const check = "keys"
	l, err := keyfile.List(c.dir)
	if err != nil {
		return failed(check, err, "restore it from a backup")
	}
	found, err := l.Summary(c.unlock)
	if err != nil {
		return failed(check, err, "run client keys protect, or client keys unprotect, again")
	}
	return passed(check, "%s", found)
}

func (c *Client) examineDisk() Finding {
	const check = "disk"
	fix := "free space on the disk of " + c.dir + ", or check its file system"
	f, err := os.CreateTemp(c.dir, ".doctor-*")
	if err != nil {
		return failed(check, err, fix)
	}
	began := time.Now()
	_, err = f.Write(make([]byte, 1<<16))
	err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	if err != nil {
		return failed(check, err, fix)
	}
	return passed(check, "64 KiB written and synced in %s", time.Since(began).Round(100*time.Microsecond))
}

func (c *Client) examineStudy(m *Member, p *Policy) []Finding {
	var all []Finding
	if t, err := c.approved(m, p); err != nil {
		all = append(all, failed("approval", err, "run client review, then client approve"))
	} else {
		all = append(all, passed("approval", "the study is approved under this policy, and charged to the data set %s against %q", t.Dataset, t.View))
		if a, ok := c.store.Account(t.Dataset); ok {
			all = append(all, passed("budget", "%s of %.4g of %s is left (promise: ε = %g at δ = %g)", a.Remaining(), a.Total, a.Unit, a.Budget.Epsilon, a.Budget.Delta))
		}
	}
	if credentials, err := c.credentials(m); err != nil {
		all = append(all, failed("certificate", err, "check this machine's clock; if it is right, ask the coordinator for a new invitation and join again"))
	} else {
		all = append(all, passed("certificate", "valid until %s", credentials.Expires().Format(time.DateOnly)))
	}
	return all
}

// examineHours does not read any records.
func (c *Client) examineHours(m *Member, p *Policy) Finding {
	const check = "computing time"
	r, err := c.Review(m, p, "")
	if err != nil {
		return failed(check, err, "report it")
	}
	if err := p.allowsHours(r.Takes); err != nil {
		return failed(check, err, "raise compute.max_hours in "+filepath.Join(c.dir, PolicyFile)+", or leave the study")
	}
	return passed(check, "%s", r.Takes.InWords())
}

// examineLink also checks that the ledger agrees with the coordinator's record of this client.
func (c *Client) examineLink(ctx context.Context, m *Member, connect func(context.Context, *Member) (Link, func() error, error)) []Finding {
	link, closed, err := connect(ctx, m)
	if err != nil {
		return []Finding{failed("coordinator", err, "check the address, and whether this machine may connect to it; ask the coordinator's people whether it is running")}
	}
	defer func() { _ = closed() }() // ignore the error, because this connection has changed nothing
	all := []Finding{passed("coordinator", "reached, with the key in the invitation and a certificate of the study")}
	standing, err := link.Standing(ctx)
	if err != nil {
		return append(all, failed("standing", err, "ask the coordinator's people"))
	}
	a := &participant{client: c, member: m}
	if a.at, _, err = c.position(m.Hash); err != nil {
		return append(all, failed("standing", err, "restore the newest state directory"))
	}
	if err := a.witness(standing); err != nil {
		return append(all, failed("standing", err, "replace this state directory by the newest one"))
	}
	consent := "the approval has not arrived"
	if standing.Approved {
		consent = "the approval has arrived"
	}
	return append(all, passed("standing", "the transcript has %d entries, %d followed here; %s", standing.Entries, a.at.Number, consent))
}

// Healthy reports whether every check passed.
func Healthy(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return !f.OK })
}
