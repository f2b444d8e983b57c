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

The text is for the person who decides whether records may take part. It lists the parameters
and priors, the contribution of one record, the columns that are read, what is public, what is
sent, and what stays. The command reads no records.`
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
