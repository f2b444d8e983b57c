package main

import (
	"fmt"
	"os"

	"fedpvi/sim"
	"fedpvi/sim/report"
)

type planCommand struct {
	studyFlags
	Clients *int `help:"Number of clients to plan for. Default: the study's simulation." placeholder:"N"`
	JSON    bool `name:"json" help:"Print the plan as one JSON object."`
}

func (planCommand) Help() string {
	return `Examples:

  sim plan study.toml
  sim plan study.toml --clients 40
  sim plan study.toml --set privacy.epsilon=0.5
  sim plan study.toml --json | jq .privacy.views

No data are read and nothing is spent.`
}

func (c *planCommand) Run() error {
	st, err := c.load()
	if err != nil {
		return err
	}
	clients, err := clientCount(c.Clients)
	if err != nil {
		return err
	}
	protocol, err := sim.Protocol(st, clients)
	if err != nil {
		return err
	}
	if c.JSON {
		return report.PlanJSON(os.Stdout, protocol)
	}
	return report.Plan(os.Stdout, protocol)
}

// clientCount returns the number that a flag gives, 0 if it is not given.
func clientCount(flag *int) (int, error) {
	if flag == nil {
		return 0, nil
	}
	if *flag < 1 {
		return 0, fmt.Errorf("--clients %d: give a number of at least 1", *flag)
	}
	return *flag, nil
}
