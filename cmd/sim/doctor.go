package main

import (
	"encoding/json"
	"fmt"
	"os"

	"fedpvi/sim/autoencoder"
)

type doctorCommand struct {
	JSON bool `name:"json" help:"Print one JSON object on standard output and nothing else."`
}

func (doctorCommand) Help() string {
	return `Examples:

  sim doctor
  sim doctor --json

The command lists the processor and the GPUs that can compute private steps, and measures how
fast each computes those of a fixed problem on made-up records.`
}

func (c *doctorCommand) Run() error {
	r, err := autoencoder.Examine()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	for _, l := range r.Lines() {
		fmt.Printf("%-16s %s\n", l.Check, l.Found)
		if l.Fix != "" {
			fmt.Printf("%-16s remedy: %s\n", "", l.Fix)
		}
	}
	return nil
}
