package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"fedpvi/internal/cli"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
	"fedpvi/sim/report"
	"fedpvi/sim/subprocess"
)

// studyFlags are the flags that select a study and change its settings.
type studyFlags struct {
	Study      string   `arg:"" help:"Study file." type:"existingfile"`
	Set        []string `help:"Replace a setting of the study, as in --set privacy.epsilon=1. May be repeated. The result is another study." placeholder:"KEY=VALUE" sep:"none"`
	NonPrivate bool     `help:"Remove the privacy promise from the study."`
}

func (f studyFlags) load() (*study.Study, error) {
	settings := f.Set
	if f.NonPrivate {
		settings = append(append([]string(nil), sim.NonPrivate...), settings...)
	}
	return sim.LoadStudy(f.Study, settings)
}

// given returns the value of a flag, or byDefault if the flag is missing.
func given[T any](flag *T, byDefault T) T {
	if flag == nil {
		return byDefault
	}
	return *flag
}

type runCommand struct {
	studyFlags
	Data    string  `help:"File of records to use instead of the study's." type:"existingfile" placeholder:"FILE"`
	Seed    *uint64 `help:"Seed of records, partition and noise. Default: the study's."`
	Out     string  `help:"Folder for the results. It must not exist. Default: runs/STUDY-seed-SEED." placeholder:"FOLDER"`
	Workers int     `help:"Number of goroutines; the result does not depend on it. Default: all cores." default:"0"`
	deviceFlag
	Arrived bool   `help:"End with exit code 8 unless the rounds have converged, which means that the last sums agree with the posterior."`
	Secure  bool   `help:"Add up the answers with the messages of secure aggregation, and print their bytes and time. The result stays the same."`
	Solver  string `help:"Command of a program that computes the factors of clients, such as 'python3 solver.py' (sim/subprocess). The privacy unit of the study must be the client, or the study must have no privacy." placeholder:"COMMAND"`
	Ratios  bool   `help:"Print odds ratios and rate ratios, in place of their logarithms."`
	JSON    bool   `name:"json" help:"Print one JSON object on standard output at the end and nothing else."`
}

func (runCommand) Help() string {
	return `Examples:

  sim run study.toml                               with the study's own records and seed
  sim run study.toml --data mine.csv --out first   with another file of records
  sim run study.toml --set privacy.epsilon=4       with another promise
  sim run study.toml --ratios                      odds ratios or rate ratios
  sim run study.toml --non-private                 the result without privacy
  sim run study.toml --json | jq .privacy          for a script

The folder of results holds the study, the transcript, the posterior (JSON, CSV, and draws in
the format of CmdStan, for ArviZ, posterior and bayesplot), the privacy statement, and plots
(SVG, PNG). Numbers are given both on the model's scale and in the units of the study's
columns. The files natural-draws-1.csv and so on have the draws in these units.

If the study names a file of records, the program looks for it beside the study and in the
folder FEDPVI_DATA (default ../shared/data).`
}

func (c *runCommand) Run(ctx context.Context, common *cli.Common) error {
	if c.Solver != "" {
		sim.RegisterSolver("command", subprocess.Command{Args: strings.Fields(c.Solver), Timeout: mostOfAnswer}.New)
		c.Set = append(c.Set, "simulation.solver="+study.Own+"command")
	}
	st, err := c.load()
	if err != nil {
		return err
	}
	seed := given(c.Seed, st.Simulation.Seed)
	folder := cmp.Or(c.Out, filepath.Join("runs", fmt.Sprintf("%s-seed-%d", st.Name, seed)))
	play, result, err := c.play(ctx, st, seed, folder, common)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(os.Stdout).Encode(result)
	} else {
		err = printResult(os.Stdout, play, result, c.Ratios)
	}
	if err == nil && c.Arrived && (result.Arrived == nil || !*result.Arrived) {
		err = errNotArrived
	}
	return err
}

var errNotArrived = errors.New("the rounds have not converged, or the solver has no check of convergence: read the notes beside the posterior")

func (c *runCommand) play(ctx context.Context, st *study.Study, seed uint64, path string, common *cli.Common) (play *sim.Play, result *sim.Result, err error) {
	options := sim.Options{StudyFile: c.Study, DataFile: c.Data, Seed: seed, Workers: cores(c.Workers), Stop: after(mostOfFit)}
	if began := time.Now(); c.Secure {
		options.Secure = func() float64 { return time.Since(began).Seconds() }
	}
	play, err = sim.NewPlay(st, options)
	if err != nil {
		return nil, nil, err
	}
	if c.Ratios && !play.Federation.Protocol.Model().Units().Ratios() {
		return nil, nil, words.ErrNoRatio
	}
	devices := c.devices(common.Quiet)
	defer func() { err = errors.Join(err, devices.Close()) }()
	if err := devices.Use(play.Federation, 0, 1); err != nil {
		return nil, nil, err
	}
	folder, err := report.NewFolder(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, folder.Discard())
		}
	}()
	if warning := words.Warning(play.Federation.Protocol); warning != "" && !common.Quiet {
		fmt.Fprintf(os.Stderr, "%s\n", warning)
	}
	progress := report.NewProgress(os.Stderr, common.Quiet)
	history := new(sim.History)
	if err := play.Observe(history, sim.Status{}); err != nil {
		return nil, nil, err
	}
	if err := folder.RecordScale(play.Federation.Scale); err != nil {
		return nil, nil, err
	}
	result, err = play.Run(ctx, func(s sim.Status) error {
		progress.Update("round", s.Outcomes, s.Of, func() string {
			moved := fmt.Sprintf("λ moved by %.1e", s.Change)
			if s.Epsilon == nil {
				return moved
			}
			return fmt.Sprintf("%s  ε %.3g", moved, *s.Epsilon)
		})
		if err := play.Observe(history, s); err != nil {
			return err
		}
		return folder.Record(s.Outcome, play.Federation.Server.Lambda(), s.Epsilon)
	})
	if err != nil {
		progress.Interrupt()
		return nil, nil, err
	}
	result.Folder = path
	if err := play.Check(result); err != nil {
		return nil, nil, err
	}
	return play, result, folder.Finish(st, play, result, history)
}

const mostOfAnswer = 10 * time.Minute

// When the fit to the pooled records has taken the time mostOfFit, it begins no further step.
const mostOfFit = 2 * time.Minute

// after returns a function that reports whether the time d has passed since after was called.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }
}

func cores(workers int) int {
	if workers <= 0 {
		return runtime.NumCPU()
	}
	return workers
}

func printResult(w io.Writer, play *sim.Play, r *sim.Result, ratios bool) error {
	st := play.Federation.Protocol.Study()
	if err := report.Posterior(w, st, r, ratios); err != nil {
		return err
	}
	if r.Tables != nil {
		fmt.Fprintln(w)
		if err := words.Tables(w, r.Tables); err != nil {
			return err
		}
	}
	if r.HeldOut != nil {
		fmt.Fprintln(w)
		if err := words.Scores(w, r.HeldOut); err != nil {
			return err
		}
	}
	if err := report.Predictions(w, st, r); err != nil {
		return err
	}
	if err := report.PredictiveChecks(w, r); err != nil {
		return err
	}
	if err := words.Reading(w, play.Report); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := report.Statement(w, r); err != nil {
		return err
	}
	if s := play.Federation.Secure(); s != nil {
		fmt.Fprintf(w, "\nSecure sums: for each of %d plans a client sent %.1f kB, received %.1f kB and computed for %.2f ms.\n", s.Plans, s.Up/1000, s.Down/1000, s.Client)
	}
	_, err := fmt.Fprintf(w, "\nResults: %s\n", r.Folder)
	return err
}
