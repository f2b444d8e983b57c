package main

import (
	"fmt"
	"io"
	"os"

	"fedpvi/internal/cli"
	"fedpvi/pvi"
	"fedpvi/sim"
	"fedpvi/sim/report"
)

// protocolFlags are the flags that select a study and the number of its clients.
type protocolFlags struct {
	studyFlags
	Clients *int `help:"Number of clients. Default: the number in the study's simulation." placeholder:"N"`
}

func (f protocolFlags) derive() (*pvi.Protocol, error) {
	st, err := f.load()
	if err != nil {
		return nil, err
	}
	clients := 0
	if f.Clients != nil {
		if clients = *f.Clients; clients < 1 {
			return nil, fmt.Errorf("--clients %d: give a number of at least 1", clients)
		}
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

A study that protects persons (privacy.unit = "person") costs the same ε for any
number of rows of a person; the plan says how much noise the rows need.

The command reads no records and spends nothing.`
}

func (c *planCommand) Run() error {
	protocol, err := c.derive()
	if err != nil {
		return err
	}
	if c.JSON {
		return report.PlanJSON(os.Stdout, protocol)
	}
	return cli.Print(os.Stdout, func(w io.Writer) error { return report.Plan(w, protocol) })
}
