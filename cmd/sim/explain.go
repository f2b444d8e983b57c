package main

import (
	"errors"
	"io"
	"os"

	"fedpvi/internal/cli"
	"fedpvi/pvi/words"
)

type explainCommand struct {
	protocolFlags
	JSON bool `name:"json" help:"Print the explanation as one JSON object."`
	Stan bool `xor:"form" help:"Print the program of the study alone, in the Stan language."`
	IR   bool `name:"ir" xor:"form" help:"Print the operations of the record program alone."`
}

func (explainCommand) Help() string {
	return `Examples:

  sim explain study.toml
  sim explain study.toml --set privacy.unit=client
  sim explain study.toml --ir
  sim explain study.toml --json | jq -r '.sent[]'

The text is for the person who decides whether records may take part. It lists the parameters
and priors, the contribution of one record, the columns that are read, what is public, what is
sent, and what stays. The command reads no records. With --stan it prints the program of a study
that gives one, and with --ir the operations that are computed for each record.`
}

func (c *explainCommand) Run() error {
	protocol, err := c.derive()
	if err != nil {
		return err
	}
	switch {
	case c.IR && protocol.Study().Model.Absent():
		return errors.New("--ir: the study has no model, so it has no program")
	case c.IR:
		return protocol.Model().Program().Listing(os.Stdout)
	case c.Stan:
		return words.ExplainStan(os.Stdout, protocol)
	}
	if c.JSON {
		return words.ExplainJSON(os.Stdout, protocol)
	}
	return cli.Print(os.Stdout, func(w io.Writer) error { return words.Explain(w, protocol) })
}
