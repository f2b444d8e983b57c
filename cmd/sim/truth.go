package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fedpvi/internal/cli"
	"fedpvi/sim/report"
	"fedpvi/sim/truth"
)

type truthCommand struct {
	Cells        string `help:"Cells to play, by number and by property, as in 1-40 or records<=20000,family=logistic. Default: all." placeholder:"CELLS"`
	Replications int    `help:"Number of replications of a cell, with consecutive seeds." default:"1" placeholder:"N"`
	Seed         uint64 `help:"First seed. Seeds below 1000 are for choosing constants, seeds from 10000 on for reporting." default:"10000"`
	Out          string `help:"File of results, a line of JSON for each cell. A cell that is already in it with the same seed is not played again." default:"runs/truth.jsonl" placeholder:"FILE"`
	Grid         bool   `help:"Also play the cells with private gradient steps, for four clips and three step sizes around their rule, and compare predictions."`
	Jobs         int    `help:"Cells that are played at a time; the results do not depend on it. Default: all cores." default:"0"`
	List         bool   `help:"Print the cells and stop."`
}

func (truthCommand) Help() string {
	return `The command plays a bank of federations with default settings and measures whether their
intervals are true: against the truth, the fit of the pooled records, and an ideal release.
docs/prove/bank.md explains the table and reports measurements.

Examples:

  sim truth --cells 1-40 --list                    the first tenth of the bank
  sim truth --cells 1-40                           play it
  sim truth --cells 'records<=20000,coefficients<=30' --replications 4
  sim truth --cells 'family=poisson,unit=record' --seed 1 --out runs/choosing.jsonl
  sim truth --cells 401-418                        public data sets, in FEDPVI_DATA
  sim truth --seed 10004 --replications 4          four more of every cell
  sim truth --cells 'family=logistic,unit=record' --grid --out runs/grid.jsonl
                                                   predictions against tuned steps
  sim truth --replications 0                       the table of what is there

Run the same command again to continue after a stop. Properties are set, family, records,
coefficients, clients, split, epsilon, unit, columns, bounds and scale. Conditions are =, !=,
<= and >=; all of them must hold. Write seeds for choosing and seeds for reporting to different
files.`
}

func (c *truthCommand) Run(ctx context.Context, common *cli.Common) error {
	if c.Replications < 0 {
		return fmt.Errorf("--replications %d: give a number of at least 0", c.Replications)
	}
	cells, err := truth.Select(truth.Cells(), c.Cells)
	if err != nil {
		return err
	}
	if c.List {
		return truth.List(os.Stdout, cells)
	}
	if c.Replications > 0 {
		if err := c.play(ctx, cells, common); err != nil {
			return err
		}
	}
	outcomes, err := truth.Read(c.Out)
	if err != nil {
		return err
	}
	outcomes = truth.Of(outcomes, cells)
	if err := truth.Write(os.Stdout, truth.Summarise(outcomes)); err != nil {
		return err
	}
	return truth.WriteGrid(os.Stdout, outcomes)
}

func (c *truthCommand) play(ctx context.Context, cells []truth.Cell, common *cli.Common) error {
	if err := os.MkdirAll(filepath.Dir(c.Out), 0o777); err != nil {
		return err
	}
	progress := report.NewProgress(os.Stderr, common.Quiet)
	began := time.Now()
	err := truth.Run(ctx, truth.Options{
		Cells: cells, Replications: c.Replications, Seed: c.Seed, Grid: c.Grid, Jobs: cores(c.Jobs), Out: c.Out,
		Clock: func() float64 { return time.Since(began).Seconds() },
		Progress: func(done, of int, cell *truth.Cell) {
			progress.Update("cell", done, of, func() string { return fmt.Sprint(cell.Number) })
		},
	})
	if err != nil {
		progress.Interrupt()
	}
	return err
}
