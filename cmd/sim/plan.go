package main

import (
	"os"

	"fedpvi/sim"
	"fedpvi/sim/report"
)

type planCommand struct {
	studyFlags
	Clients int `help:"Number of clients to plan for. Default: the study's simulation." placeholder:"N"`
}

func (planCommand) Help() string {
	return `Examples:

  sim plan study.toml
  sim plan study.toml --clients 40
  sim plan study.toml --set privacy.epsilon=0.5

No data are read and nothing is spent.`
}

func (c *planCommand) Run() error {
	st, err := c.load()
	if err != nil {
		return err
	}
	protocol, err := sim.Protocol(st, c.Clients)
	if err != nil {
		return err
	}
	return report.Plan(os.Stdout, protocol)
}
