package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Finding is what a check of the state found.
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

// An Examination is what is examined.
type Examination struct {
	Study string // which one, if there are several
	Data  string // a file of records; not looked at if empty
	// Connect makes a connection, not made if it is nil.
	Connect func(ctx context.Context, m *Member) (Link, func() error, error)
	Program string
}

// Examine looks at everything that a run needs, and says what to mend. The state is open:
// directory, modes, keys and ledger are whole, or it could not have been opened.
func (c *Client) Examine(ctx context.Context, x Examination) []Finding {
	sequence, head := c.store.Head()
	all := []Finding{
		passed("program", "%s", x.Program),
		passed("state directory", "%s, for its owner alone", c.dir),
		passed("identity", "fingerprint %s", c.store.Identity().Fingerprint()),
		passed("ledger", "%d entries, every signature, link and cost checked; head %.16s", sequence, head),
		c.examineDisk(),
	}
	if err := c.halted(); err != nil {
		return append(all, failed("rollback", err, "put the newest state directory in place of this one"))
	}
	p, err := LoadPolicy(c.dir)
	if err != nil {
		all = append(all, failed("policy", err, "mend "+filepath.Join(c.dir, PolicyFile)))
	} else {
		all = append(all, passed("policy", "%d coordinators allowed, %d data sets, at least %d clients", len(p.Coordinators), len(p.Datasets), p.MinParticipants))
	}
	m, err := c.Member(x.Study)
	if err != nil {
		return append(all, failed("study", err, "client join INVITATION"))
	}
	all = append(all, passed("study", "%s, sha256 %s", m.Study.Name, m.Hash))
	if p != nil {
		all = append(all, c.examineStudy(m, p)...)
	}
	if x.Data != "" {
		all = append(all, c.examineData(m, x.Data))
	}
	if x.Connect != nil {
		all = append(all, c.examineLink(ctx, m, x.Connect)...)
	}
	return all
}

// examineDisk writes a file and waits until it is on disk.
func (c *Client) examineDisk() Finding {
	const check = "disk"
	fix := "free space on the disk of " + c.dir + ", or look at its file system"
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
	return passed(check, "64 KiB written and safe in %s", time.Since(began).Round(100*time.Microsecond))
}

// examineStudy looks at approval, certificate and budget.
func (c *Client) examineStudy(m *Member, p *Policy) []Finding {
	var all []Finding
	if t, err := c.approved(m, p); err != nil {
		all = append(all, failed("approval", err, "client review, then client approve"))
	} else {
		all = append(all, passed("approval", "of this study under this policy, charged to the data set %s against %q", t.Dataset, t.View))
		if a, ok := c.store.Account(t.Dataset); ok {
			all = append(all, passed("budget", "%.4g of %.4g of %s is left (promise: ε = %g at δ = %g)", a.Left, a.Total, a.Unit, a.Budget.Epsilon, a.Budget.Delta))
		}
	}
	if credentials, err := c.credentials(m); err != nil {
		all = append(all, failed("certificate", err, "look at this machine's clock; else ask the coordinator for a new invitation and join again"))
	} else {
		all = append(all, passed("certificate", "valid until %s", credentials.Expires().Format(time.DateOnly)))
	}
	return all
}

func (c *Client) examineData(m *Member, path string) Finding {
	const check = "records"
	records, _, _, err := c.Read(m, path)
	if err != nil {
		return failed(check, err, "mend the file, or name another one with --data")
	}
	if records.Len() == 0 {
		return failed(check, errors.New("the file has no records"), "name another one with --data")
	}
	return passed(check, "%s is as the study declares it: %d columns", path, len(m.Study.Columns))
}

// examineLink connects, which checks name resolution, reachability, TLS and the
// coordinator's pin, and compares what the coordinator knows.
func (c *Client) examineLink(ctx context.Context, m *Member, connect func(context.Context, *Member) (Link, func() error, error)) []Finding {
	link, closed, err := connect(ctx, m)
	if err != nil {
		return []Finding{failed("coordinator", err, "look whether the address is right, and whether this machine may make connections to it; ask the coordinator whether it runs")}
	}
	defer func() { _ = closed() }() // nothing was written
	all := []Finding{passed("coordinator", "reached, with the key that the invitation pins and a certificate of the study")}
	standing, err := link.Standing(ctx)
	if err != nil {
		return append(all, failed("standing", err, "ask the coordinator"))
	}
	a := &participant{client: c, member: m}
	if ok, err := c.has(m.Hash, positionPart); err == nil && ok {
		err = c.get(m.Hash, positionPart, &a.at)
		if err != nil {
			return append(all, failed("standing", err, "put the state directory back as it was last"))
		}
	}
	if err := a.witness(standing); err != nil {
		return append(all, failed("standing", err, "put the newest state directory in place of this one"))
	}
	consent := "the approval is not there yet"
	if standing.Approved {
		consent = "the approval is there"
	}
	return append(all, passed("standing", "%d entries were said, %d followed here; %s", standing.Entries, a.at.Number, consent))
}

// Healthy reports whether every check passed.
func Healthy(all []Finding) bool {
	for _, f := range all {
		if !f.OK {
			return false
		}
	}
	return true
}
