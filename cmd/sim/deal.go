package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"fedpvi/pvi/words"
	"fedpvi/sim"
)

type dealCommand struct {
	studyFlags
	Data string  `help:"File of records to use instead of the study's." type:"existingfile" placeholder:"FILE"`
	Seed *uint64 `help:"Seed of records and partition. Default: the study's."`
	Out  string  `help:"Folder for the files. It must not exist. Default: runs/STUDY-records." placeholder:"FOLDER"`
	JSON bool    `name:"json" help:"Print one JSON object."`
}

func (dealCommand) Help() string {
	return `Examples:

  sim deal study.toml                      a file of records for each client
  sim deal study.toml --out records        into the folder records
  client run --data records/client-1.csv   one of them, in a federation over a network

The records are divided as in sim run with the same seed. Records that the study holds out go
to held-out.csv. The folder also holds the study, with the replacements by --set.`
}

func (c *dealCommand) Run() error {
	st, err := c.load()
	if err != nil {
		return err
	}
	seed := given(c.Seed, st.Simulation.Seed)
	folder := cmp.Or(c.Out, filepath.Join("runs", st.Name+"-records"))
	dealt, err := sim.Deal(st, sim.Options{StudyFile: c.Study, DataFile: c.Data, Seed: seed}, folder)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"files": dealt})
	}
	rows := [][]string{{"client", "file", "records"}}
	for _, d := range dealt {
		who := string(d.Client)
		if who == "" {
			who = "(held out)"
		}
		rows = append(rows, []string{who, d.File, strconv.Itoa(d.Records)})
	}
	if err := words.Table(os.Stdout, "", 2, rows); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
