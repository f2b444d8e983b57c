package main

import (
	"encoding/json"
	"fmt"
	"os"

	"fedpvi/internal/speed"
)

type doctorCommand struct {
	JSON bool `name:"json" help:"Print one JSON object on standard output, and nothing else there."`
}

func (doctorCommand) Help() string {
	return `Says what this machine has to compute private steps with, processor and GPUs, and how
fast each takes those of a fixed problem of made-up records.`
}

func (c *doctorCommand) Run() error {
	r, err := speed.Examine()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	for _, l := range r.Lines() {
		fmt.Printf("%-16s %s\n", l.Check, l.Found)
		if l.Fix != "" {
			fmt.Printf("%-16s to mend it: %s\n", "", l.Fix)
		}
	}
	return nil
}
