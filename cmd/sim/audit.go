package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"fedpvi/internal/cli"
	"fedpvi/sim/audit"
	"fedpvi/sim/report"
)

type auditCommand struct {
	Seed    uint64 `help:"Seed of all randomness." default:"1"`
	Repeat  int    `help:"Number of audits, with consecutive seeds." default:"1"`
	Runs    int    `help:"How many times to play each attack in each of its two worlds. More runs detect smaller faults." default:"3000"`
	First   bool   `help:"Stop at the first finding."`
	Ahead   string `help:"Case whose checks run first, as the table names it." placeholder:"CASE"`
	Plot    string `help:"Plot the attacks' results and the claimed bounds; .svg or .png." placeholder:"FILE"`
	Workers int    `help:"Number of goroutines; the result does not depend on it. Default: all cores." default:"0"`
	JSON    bool   `name:"json" help:"Print one JSON object per audit and nothing else."`
}

func (auditCommand) Help() string {
	return `The audit attacks this program. It plays tiny worst-case federations thousands of times, and
compares how well an observer can tell them apart with the bound that the accountant claims.
docs/prove/audit.md explains the report. The command exits with 1 if a check fails.

Examples:

  sim audit                                  the whole table, in some seconds
  sim audit --runs 50000 --plot audit.svg    more precise, with a plot
  sim audit --repeat 20 --quiet              with twenty seeds
  sim audit --json | jq '.checks[] | select(.passed | not)'`
}

func (c *auditCommand) Run(ctx context.Context, common *cli.Common) error {
	if err := checkPlot(c.Plot); err != nil {
		return err
	}
	switch {
	case c.Repeat < 1:
		return fmt.Errorf("--repeat %d: give a number of at least 1", c.Repeat)
	case c.Runs < 1:
		return fmt.Errorf("--runs %d: give a number of at least 1", c.Runs)
	}
	auditor, err := audit.New()
	if err != nil {
		return err
	}
	findings := 0
	for i := range c.Repeat {
		r, err := c.audit(ctx, auditor, c.Seed+uint64(i), common)
		if err != nil {
			return err
		}
		findings += len(r.Findings())
		if err := c.print(r, i > 0); err != nil {
			return err
		}
		if i == 0 {
			if err := writePlot(c.Plot, func() (report.Figure, error) { return report.AuditCurves(r) }); err != nil {
				return err
			}
		}
		if c.First && findings > 0 {
			break
		}
	}
	if findings > 0 {
		return fmt.Errorf("the audit found %d violations: this program does not keep its privacy claims; do not use it on real records", findings)
	}
	return nil
}

func (c *auditCommand) audit(ctx context.Context, auditor *audit.Auditor, seed uint64, common *cli.Common) (*audit.Report, error) {
	progress := report.NewProgress(os.Stderr, common.Quiet)
	r, err := auditor.Run(ctx, audit.Options{
		Seed: seed, Workers: cores(c.Workers), Runs: c.Runs, First: c.First, Ahead: c.Ahead,
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
