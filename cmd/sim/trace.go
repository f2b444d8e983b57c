package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fedpvi/coordinator/bundle"
	"fedpvi/internal/cli"
	"fedpvi/pvi/session"
	"fedpvi/sim/report"
)

type traceCommand struct {
	File string `arg:"" name:"bundle" help:"Bundle of a study that is over (coordinator bundle)." type:"existingfile"`
	Out  string `help:"Folder to create for plots of the trace, and of prior and posterior (SVG, PNG)." placeholder:"FOLDER"`
	JSON bool   `name:"json" help:"Print the trace as one JSON object."`
}

func (traceCommand) Help() string {
	return `Examples:

  sim trace readmission.bundle
  sim trace readmission.bundle --out course    with plots
  sim trace readmission.bundle --json | jq .rounds

Shows how the posterior of a federation came about, computed again from the public messages in a
bundle: after every round, how far the mean of q was from the result, in sds. Where the messages of
single clients are published, it also shows how far q would have moved without the answer of a
client. It verifies the bundle as coordinator verify does, and nothing new is released.`
}

func (c *traceCommand) Run() error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	posterior, trace, err := bundle.Trace(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if len(trace.Names) == 0 {
		return fmt.Errorf("%s: the study has no model, so there is no posterior to trace", c.File)
	}
	if c.Out != "" {
		if err := plotTrace(c.Out, posterior, trace); err != nil {
			return err
		}
	}
	if c.JSON {
		return cli.PrintJSON(struct {
			*session.Trace
			Clients []session.Influential `json:"clients,omitempty"`
		}{trace, trace.Influential()})
	}
	return report.Trace(os.Stdout, trace)
}

func plotTrace(folder string, p *session.Posterior, t *session.Trace) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	figure, err := report.TraceFigure(t)
	if err != nil {
		return err
	}
	if err := report.WriteFigure(filepath.Join(folder, "trace"), figure); err != nil || p.Prior == nil {
		return err
	}
	if figure, err = report.AgainstPrior(p.Prior); err != nil {
		return err
	}
	return report.WriteFigure(filepath.Join(folder, "prior"), figure)
}
