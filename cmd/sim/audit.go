package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"fedpvi/sim/audit"
	"fedpvi/sim/report"
)

type auditCommand struct {
	Seed    uint64 `help:"Seed of everything that is played." default:"1"`
	Repeat  int    `help:"Make so many audits, with consecutive seeds." default:"1"`
	Runs    int    `help:"How often an attack is played in each of its two worlds. More runs notice smaller faults." default:"3000"`
	First   bool   `help:"Stop at the first finding."`
	Plot    string `help:"Draw what the attacks reached under what is claimed; .svg or .png." placeholder:"FILE"`
	Workers int    `help:"Goroutines to compute with; the result does not depend on it. Default: all cores." default:"0"`
	JSON    bool   `name:"json" help:"Print one JSON object for every audit, and nothing else."`
	Quiet   bool   `short:"q" help:"Show no progress."`
}

func (auditCommand) Help() string {
	return `Attacks this program as it is: tiny worst-case federations are played thousands of times,
and what an observer could tell from the messages is set against what the accountant
claims. docs/prove/audit.md says how to read the report. Exits with 1 if something is found.

  sim audit                                  the whole table, in some seconds
  sim audit --runs 50000 --plot audit.svg    a sharper look, with a picture
  sim audit --repeat 20 --quiet              with twenty seeds
  sim audit --json | jq '.checks[] | select(.passed | not)'`
}

func (c *auditCommand) Run(ctx context.Context) error {
	format := strings.TrimPrefix(filepath.Ext(c.Plot), ".")
	switch {
	case c.Plot != "" && format != "svg" && format != "png":
		return fmt.Errorf("--plot %s: the name must end in .svg or .png", c.Plot)
	case c.Repeat < 1:
		return fmt.Errorf("--repeat %d: want at least 1", c.Repeat)
	case c.Runs < 1:
		return fmt.Errorf("--runs %d: want at least 1", c.Runs)
	}
	auditor, err := audit.New()
	if err != nil {
		return err
	}
	findings := 0
	for i := range c.Repeat {
		r, err := c.audit(ctx, auditor, c.Seed+uint64(i))
		if err != nil {
			return err
		}
		findings += len(r.Findings())
		if err := c.print(r, i > 0); err != nil {
			return err
		}
		if c.Plot != "" && i == 0 {
			if err := drawAudit(r, c.Plot, format); err != nil {
				return err
			}
		}
		if c.First && findings > 0 {
			break
		}
	}
	if findings > 0 {
		return fmt.Errorf("the audit found %d checks that do not hold: what this program claims is not what it does; do not use it on real records", findings)
	}
	return nil
}

func (c *auditCommand) audit(ctx context.Context, auditor *audit.Auditor, seed uint64) (*audit.Report, error) {
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.NumCPU()
	}
	progress := report.NewProgress(os.Stderr, c.Quiet)
	r, err := auditor.Run(ctx, audit.Options{
		Seed: seed, Workers: workers, Runs: c.Runs, First: c.First,
		Progress: func(done, of int, check audit.Check) {
			progress.Update("check", done, of, func() string { return check.Case + ", " + check.Name })
		},
	})
	if err != nil {
		progress.Interrupt()
	}
	return r, err
}

func (c *auditCommand) print(r *audit.Report, another bool) error {
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	if another {
		fmt.Println()
	}
	return report.Audited(os.Stdout, r)
}

func drawAudit(r *audit.Report, path, format string) error {
	figure, err := report.AuditCurves(r)
	if err != nil {
		return err
	}
	picture, err := figure.Encode(format)
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}
