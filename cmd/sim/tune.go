package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime"

	"fedpvi/sim/report"
	"fedpvi/sim/tune"
)

type tuneCommand struct {
	Study   string   `arg:"" help:"Study file." type:"existingfile"`
	Set     []string `help:"Replace a setting of the study, as in --set privacy.epsilon=1. May be repeated." placeholder:"KEY=VALUE" sep:"none"`
	Data    []string `help:"Search on this file of records, which you assert to be PUBLIC. May be repeated. Default: records made up from the study's model, prior and bounds." type:"existingfile" placeholder:"FILE" sep:"none"`
	Score   string   `help:"What is to be large on records held out: ${enum}." enum:"log-likelihood,accuracy" default:"log-likelihood"`
	Budget  int      `help:"Runs to make." default:"100" placeholder:"N"`
	Seed    uint64   `help:"Of candidates, records and noise." default:"1"`
	Workers int      `help:"Runs at a time; the result does not depend on it. Default: all cores." default:"0"`
	JSON    bool     `name:"json" help:"End with one JSON object on standard output, and print nothing else there."`
	Quiet   bool     `short:"q" help:"Show no progress."`
}

func (tuneCommand) Help() string {
	return `Examples:

  sim tune study.toml                            on made-up records: costs no privacy
  sim tune study.toml --budget 400 --score accuracy
  sim tune study.toml --data public.csv          on records that anybody may see
  sim tune study.toml --json | jq '.rows[.best].settings'

Searched are privacy.clip, and of private gradient steps inference.steps, step_size
and sampling_rate; in synchronous rounds inference.damping too. Three fifths of the
runs look at many candidates, the others compare the best of them with the default
rule on new seeds. The records of the study itself are not touched.`
}

func (c *tuneCommand) Run(ctx context.Context) error {
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.NumCPU()
	}
	search, err := tune.New(tune.Options{
		Study: c.Study, Settings: c.Set, Public: c.Data, Score: tune.Score(c.Score),
		Budget: c.Budget, Seed: c.Seed, Workers: workers,
	})
	if err != nil {
		return err
	}
	progress := report.NewProgress(os.Stderr, c.Quiet)
	found, err := search.Run(ctx, func(runs, of int) {
		progress.Update("run", runs, of, func() string { return "" })
	})
	if err != nil {
		progress.Interrupt()
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	return found.Write(os.Stdout)
}
