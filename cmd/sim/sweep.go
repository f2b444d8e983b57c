package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fedpvi/internal/cli"
	"fedpvi/sim/report"
	"fedpvi/sim/sweep"
)

type sweepCommand struct {
	Sweep   string `arg:"" help:"Sweep file." type:"existingfile"`
	Out     string `help:"Folder for the results. Default: runs/SWEEP. A sweep that was stopped continues there." placeholder:"FOLDER"`
	Workers int    `help:"Concurrent runs; the results do not depend on it. Default: all cores." default:"0"`
	deviceFlag
	JSON bool `name:"json" help:"Print one JSON object on standard output at the end and nothing else."`
}

func (sweepCommand) Help() string {
	return `Examples:

  sim sweep experiments/linear/fig-4-8.toml
  sim sweep sweep.toml --out results --workers 1

The folder of results holds results.csv (a row per run), trace.csv (a row per round, if the
sweep asks for it), summary.csv and summary.md (a row per point of the grid), and plots (SVG,
PNG). Run the same command again to continue after a stop.`
}

func (c *sweepCommand) Run(ctx context.Context, common *cli.Common) (err error) {
	spec, err := sweep.Load(c.Sweep)
	if err != nil {
		return err
	}
	folder := cmp.Or(c.Out, filepath.Join("runs", spec.Name))
	results, err := sweep.OpenResults(folder, spec)
	if err != nil {
		return err
	}
	defer results.Close()
	fmt.Fprint(os.Stderr, results.Notice)
	spec.Devices = c.devices(common.Quiet)
	defer func() { err = errors.Join(err, spec.Devices.Close()) }()
	before := results.Runs()
	if before > 0 && !common.Quiet {
		fmt.Fprintf(os.Stderr, "%s: continuing after %d of %d runs\n", folder, before, spec.Runs())
	}
	progress := report.NewProgress(os.Stderr, common.Quiet)
	err = spec.Run(ctx, results, cores(c.Workers), func(runs int) {
		progress.Update("run", runs-before, spec.Runs()-before, func() string { return "" })
	})
	if err != nil {
		progress.Interrupt()
		return err
	}
	if err := results.Finish(); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(results.Overview())
	}
	fmt.Printf("%s\n\n", spec.Title)
	if err := results.Summary(os.Stdout); err != nil {
		return err
	}
	_, err = fmt.Printf("\nResults: %s\n", folder)
	return err
}
