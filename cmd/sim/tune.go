package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"fedpvi/sim"
	"fedpvi/sim/report"
	"fedpvi/sim/tune"
)

type tuneCommand struct {
	Study      string   `arg:"" help:"Study file." type:"existingfile"`
	Set        []string `help:"Replace a setting of the study, as in --set privacy.epsilon=1. May be repeated." placeholder:"KEY=VALUE" sep:"none"`
	Data       []string `help:"Search on this file of records, which you assert to be PUBLIC. May be repeated. Default: records made up from the study's model, prior and bounds." type:"existingfile" placeholder:"FILE" sep:"none"`
	Private    bool     `help:"Choose by the study's own, private records: a release of every run and every score, all of it charged to the study's target."`
	Candidate  []string `help:"With --private: settings to choose from beside the default rule, as in --candidate 'privacy.clip=1 inference.steps=50'. May be repeated. Default: some drawn around the rule." placeholder:"SETTINGS" sep:"none"`
	Candidates int      `help:"With --private and no --candidate: how many there are, the rule included." default:"4" placeholder:"N"`
	Out        string   `help:"With --private: folder for the chosen run. It must not exist. Default: runs/STUDY-tuned-seed-SEED." placeholder:"FOLDER"`
	Score      string   `help:"What is to be large on records held out: ${enum}." enum:"log-likelihood,accuracy" default:"log-likelihood"`
	Budget     int      `help:"Runs to make." default:"100" placeholder:"N"`
	Seed       uint64   `help:"Of candidates, records and noise." default:"1"`
	Workers    int      `help:"Runs at a time; the result does not depend on it. Default: all cores." default:"0"`
	JSON       bool     `name:"json" help:"End with one JSON object on standard output, and print nothing else there."`
	Quiet      bool     `short:"q" help:"Show no progress."`
}

func (tuneCommand) Help() string {
	return `Examples:

  sim tune study.toml                            on made-up records: costs no privacy
  sim tune study.toml --budget 400 --score accuracy
  sim tune study.toml --data public.csv          on records that anybody may see
  sim tune study.toml --json | jq '.rows[.best].settings'
  sim tune study.toml --private --candidate 'privacy.clip=1' --candidate 'privacy.clip=2'

Searched are privacy.clip, and of private gradient steps inference.steps, step_size
and sampling_rate; in synchronous rounds inference.damping too. Three fifths of the
runs look at many candidates, the others compare the best of them with the default
rule on new seeds. The records of the study itself are not touched, unless you say
--private: then the runs of all candidates and their scores together cost what the study
promises, and each run has the more noise. Few candidates that a free search has left,
or none, serve better than many.`
}

func (c *tuneCommand) Run(ctx context.Context) error {
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.NumCPU()
	}
	if c.Private {
		return c.choose(ctx, workers)
	}
	if len(c.Candidate) > 0 || c.Out != "" {
		return errors.New("--candidate and --out are for --private")
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

// choose chooses by the private records.
func (c *tuneCommand) choose(ctx context.Context, workers int) (err error) {
	if len(c.Data) > 0 {
		return errors.New("--data says that a file is public, --private that records are not: leave one of them out, or name the private file as --set simulation.data=FILE")
	}
	selection, err := tune.NewSelection(tune.SelectionOptions{
		Study: c.Study, Settings: c.Set, Candidates: c.Candidate, Draw: c.Candidates,
		Score: tune.Score(c.Score), Seed: c.Seed, Workers: workers,
	})
	if err != nil {
		return err
	}
	path := c.Out
	if path == "" {
		path = filepath.Join("runs", fmt.Sprintf("%s-tuned-seed-%d", selection.Study().Name, c.Seed))
	}
	folder, err := report.NewFolder(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, folder.Discard())
		}
	}()
	progress := report.NewProgress(os.Stderr, c.Quiet)
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
	return printResult(os.Stdout, st, chosen.Result, chosen.Play.Report)
}
