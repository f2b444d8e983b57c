package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// protectedStudies are studies with three clients in which all records of a client are protected
// together.
var protectedStudies = []struct {
	name, file string
	settings   []string
	released   []string // columns in the run's result that must equal the simulation's columns
}{
	{"formula", "experiments/programs/infections.toml", append([]string{"federation.aggregation=secure", "federation.colluders=1"}, estimatesAlone...), estimates},
	{"program", "experiments/programs/visits.toml", estimatesAlone, estimates},
	{"scores", "experiments/programs/pain.toml", nil, []string{"natural_mean", "natural_sd"}},
}

var (
	estimatesAlone = []string{"privacy.clip=3", "inference.rounds=3", "inference.intervals=none"}
	estimates      = []string{"estimate", "natural_estimate"}
)

// simulate runs each study of protectedStudies twice: as processes and, with the same noise, in the
// simulator. The estimates must be equal bit for bit.
func simulate(ctx context.Context, programs string) error {
	for _, c := range protectedStudies {
		var settings []string
		for _, s := range append(c.settings, "privacy.unit=client", "privacy.epsilon=", "privacy.noise_multiplier=0.07", "federation.min_clients=3") {
			settings = append(settings, "--set", s)
		}
		records, simulated := filepath.Join(dir, "records-"+c.name), filepath.Join(dir, c.name+"-simulated")
		clients, err := deal(ctx, records, c.file, settings...)
		if err != nil {
			return err
		}
		p, err := run{c.name, programs, leave}.play(ctx, records, clients)
		if err != nil {
			return err
		}
		if _, err := command(ctx, bin, "sim", append([]string{"run", c.file, "--quiet", "--seed", "1", "--out", simulated}, settings...)...); err != nil {
			return err
		}
		if err := equalEstimates(p, filepath.Join(simulated, "posterior.csv"), c.released); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		say("The estimates of the %s are those of its simulation, to the last bit. All records of a client were protected together.", c.name)
	}
	return nil
}

// equalEstimates returns an error unless the given columns of a run's result equal those in the
// simulator's file. At least one round must have moved λ. Otherwise the comparison would mean
// nothing.
func equalEstimates(p *posterior, file string, columns []string) error {
	if moved := allMoved.FindStringSubmatch(p.table); moved == nil || moved[1] == "0" {
		return fmt.Errorf("no round moved λ:\n%s", p.table)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	released, err := columnsOf(p.exact, append([]string{"name"}, columns...)...)
	if err != nil {
		return err
	}
	simulated, err := columnsOf(text, append([]string{"coefficient"}, columns...)...)
	if err != nil {
		return err
	}
	// The quantities that the study's program generates come after the parameters.
	if len(simulated) == 0 || len(released) < len(simulated) || !slices.EqualFunc(simulated, released[:len(simulated)], slices.Equal) {
		return fmt.Errorf("the estimates\n%s\nare not those of the simulation\n%s", p.exact, text)
	}
	return nil
}

// columnsOf returns some columns of a table, row by row.
func columnsOf(table []byte, names ...string) ([][]string, error) {
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, row := range rows[1:] {
		var of []string
		for _, name := range names {
			i := slices.Index(rows[0], name)
			if i < 0 {
				return nil, errors.New("a table of a posterior has no column " + name)
			}
			of = append(of, row[i])
		}
		out = append(out, of)
	}
	return out, nil
}
