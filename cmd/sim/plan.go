package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"fedpvi/internal/cli"
	"fedpvi/pvi"
	"fedpvi/sim"
	"fedpvi/sim/report"
)

// protocolFlags select a study and the number of its clients.
type protocolFlags struct {
	studyFlags
	Clients *int `help:"Number of clients. Default: the number in the study's simulation." placeholder:"N"`
}

func (f protocolFlags) derive() (*pvi.Protocol, error) {
	st, err := f.load()
	if err != nil {
		return nil, err
	}
	clients := given(f.Clients, 0)
	if f.Clients != nil && clients < 1 {
		return nil, fmt.Errorf("--clients %d: give a number of at least 1", clients)
	}
	return sim.Protocol(st, clients)
}

type planCommand struct {
	protocolFlags
	JSON bool `name:"json" help:"Print the plan as one JSON object."`
}

func (planCommand) Help() string {
	return `Examples:

  sim plan study.toml
  sim plan study.toml --clients 40
  sim plan study.toml --set privacy.epsilon=0.5
  sim plan study.toml --json | jq .privacy.views
  sim plan visits.toml --set privacy.rows_per_person=5

A study that protects persons (privacy.unit = "person") costs the same ε however many
rows a person has; the plan says how much noise the rows need.

The command reads no records and spends nothing.`
}

// patience is how long a computation runs before its progress is shown.
const patience = 2 * time.Second

func (c *planCommand) Run(ctx context.Context, common *cli.Common) error {
	protocol, err := c.derive()
	if err != nil {
		return err
	}
	progress, began := report.NewProgress(os.Stderr, common.Quiet), time.Now()
	played := func(done, of int) error {
		if time.Since(began) > patience {
			progress.Update("round of made-up federations", done, of, func() string { return "" })
		}
		return ctx.Err()
	}
	if c.JSON {
		err = report.PlanJSON(os.Stdout, protocol, played)
	} else {
		err = cli.Print(os.Stdout, func(w io.Writer) error { return report.Plan(w, protocol, played) })
	}
	if err != nil {
		progress.Interrupt()
	}
	return err
}
