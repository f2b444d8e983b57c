package main

import (
	"os"

	"fedpvi/pvi/words"
)

type explainCommand struct {
	protocolFlags
	JSON bool `name:"json" help:"Print the explanation as one JSON object."`
}

func (explainCommand) Help() string {
	return `Examples:

  sim explain study.toml
  sim explain study.toml --set privacy.unit=client
  sim explain study.toml --json | jq -r '.sent[]'

For whoever decides whether records may take part: parameters and priors, what one
record adds, the columns that are read, what is public, what is sent, what stays.
No data are read.`
}

func (c *explainCommand) Run() error {
	protocol, err := c.derive()
	if err != nil {
		return err
	}
	if c.JSON {
		return words.ExplainJSON(os.Stdout, protocol)
	}
	return words.Explain(os.Stdout, protocol)
}
