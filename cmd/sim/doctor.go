package main

import (
	"encoding/json"
	"fmt"
	"os"

	"fedpvi/sim/autoencoder"
)

type doctorCommand struct {
	JSON bool `name:"json" help:"Print one JSON object on standard output, and nothing else there."`
}

func (doctorCommand) Help() string {
	return `Lists the processor and the GPUs of this machine, and measures how fast each takes
private steps of a fixed regression and of a fixed autoencoder on made-up records.`
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
