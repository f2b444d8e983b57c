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
	"fedpvi/sim"
	"fedpvi/sim/report"
	"fedpvi/sim/tune"
)

type tuneCommand struct {
	Study      string   `arg:"" help:"Study file." type:"existingfile"`
	Set        []string `help:"Replace a setting of the study, as in --set privacy.epsilon=1. May be repeated." placeholder:"KEY=VALUE" sep:"none"`
	Data       []string `help:"Search on this file of records, which you declare to be PUBLIC. May be repeated. Default: records made up from the study's model, prior and bounds." type:"existingfile" placeholder:"FILE" sep:"none"`
	Private    bool     `help:"Choose by the study's own, private records. Every run and every score is a release, and all are charged to the study's target."`
	Candidate  []string `help:"With --private: a candidate beside the default settings, as in --candidate 'privacy.clip=1 inference.steps=50'. May be repeated. Default: candidates drawn around the default settings." placeholder:"SETTINGS" sep:"none"`
	Candidates int      `help:"With --private and no --candidate: number of candidates, including the default settings." default:"4" placeholder:"N"`
	Out        string   `help:"With --private: folder for the chosen run. It must not exist. Default: runs/STUDY-tuned-seed-SEED." placeholder:"FOLDER"`
	Score      string   `help:"Score to maximise on held-out records: ${enum}." enum:"log-likelihood,accuracy" default:"log-likelihood"`
	Budget     int      `help:"Number of runs." default:"100" placeholder:"N"`
	Seed       uint64   `help:"Seed of candidates, records and noise." default:"1"`
	Workers    int      `help:"Concurrent runs; the result does not depend on it. Default: all cores." default:"0"`
	JSON       bool     `name:"json" help:"Print one JSON object on standard output at the end and nothing else."`
}

func (tuneCommand) Help() string {
	return `Examples:

  sim tune study.toml                            on made-up records: costs no privacy
  sim tune study.toml --budget 400 --score accuracy
  sim tune study.toml --data public.csv          on public records
  sim tune study.toml --json | jq '.rows[.best].settings'
  sim tune study.toml --private --candidate 'privacy.clip=1' --candidate 'privacy.clip=2'

The search covers privacy.clip; for private gradient steps also inference.steps, step_size and
sampling_rate; and for synchronous rounds inference.damping. Three fifths of the runs try many
candidates. The others compare the best of them with the default settings on new seeds.

The search does not use the records of the study, unless you give --private. Then the runs of
all candidates and their scores together cost what the study promises, so each run has more
noise. A few candidates from a free search are better than many.`
}

func (c *tuneCommand) Run(ctx context.Context, common *cli.Common) error {
	if c.Private {
		return c.choose(ctx, common)
	}
	if len(c.Candidate) > 0 || c.Out != "" {
		return errors.New("--candidate and --out need --private")
	}
	search, err := tune.New(tune.Options{
		Study: c.Study, Settings: c.Set, Public: c.Data, Score: tune.Score(c.Score),
		Budget: c.Budget, Seed: c.Seed, Workers: cores(c.Workers),
	})
	if err != nil {
		return err
	}
	progress := report.NewProgress(os.Stderr, common.Quiet)
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

func (c *tuneCommand) choose(ctx context.Context, common *cli.Common) (err error) {
	if len(c.Data) > 0 {
		return errors.New("--data declares a file public, and --private uses private records: leave one of them out, or name the private file with --set simulation.data=FILE")
	}
	selection, err := tune.NewSelection(tune.SelectionOptions{
		Study: c.Study, Settings: c.Set, Candidates: c.Candidate, Draw: c.Candidates,
		Score: tune.Score(c.Score), Seed: c.Seed, Workers: cores(c.Workers),
	})
	if err != nil {
		return err
	}
	path := cmp.Or(c.Out, filepath.Join("runs", fmt.Sprintf("%s-tuned-seed-%d", selection.Study().Name, c.Seed)))
	folder, err := report.NewFolder(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, folder.Discard())
		}
	}()
	progress := report.NewProgress(os.Stderr, common.Quiet)
	history := new(sim.History)
	chosen, err := selection.Run(ctx, func(candidates, of int) {
		progress.Update("candidate", candidates, of, func() string { return "" })
	}, func(p *sim.Play, s sim.Status) error {
		if err := p.Observe(history, s); err != nil || s.Outcome == nil {
			return err
		}
		return folder.Record(s.Outcome, p.Federation.Server.Lambda(), s.Epsilon)
	})
	if err != nil {
		progress.Interrupt()
		return err
	}
	st := chosen.Play.Federation.Protocol.Study()
	chosen.Result.Folder = path
	if err := folder.Finish(st, chosen.Play, chosen.Result, history); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(chosen.Result)
	}
	if err := selection.Write(os.Stdout, chosen); err != nil {
		return err
	}
	return printResult(os.Stdout, chosen.Play, chosen.Result, false)
}
