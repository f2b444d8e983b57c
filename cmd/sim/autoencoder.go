package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fedpvi/internal/cli"
	"fedpvi/sim"
	"fedpvi/sim/autoencoder"
	"fedpvi/sim/report"
)

type autoencoderCommand struct {
	File       string   `arg:"" help:"Experiment file." type:"existingfile"`
	Set        []string `help:"Replace a setting of the file, as in --set training.epochs=2. May be repeated." placeholder:"KEY=VALUE" sep:"none"`
	NonPrivate bool     `help:"Remove the privacy promise."`
	Plan       bool     `help:"Print the privacy cost and stop."`
	Pixels     int      `help:"With --plan: pixels per image." default:"784"`
	Seed       *uint64  `help:"Seed of weights, batches and noise. Default: the file's."`
	Out        string   `help:"Folder for the results. It must not exist. Default: runs/NAME-seed-SEED." placeholder:"FOLDER"`
	Workers    int      `help:"Number of goroutines; the result does not depend on it. Default: all cores." default:"0"`
	deviceFlag
	JSON bool `name:"json" help:"Print one JSON object on standard output at the end and nothing else."`
}

func (autoencoderCommand) Help() string {
	return `Examples:

  sim autoencoder experiments/d3p/vae-mnist.toml
  sim autoencoder experiments/d3p/vae-mnist.toml --plan
  sim autoencoder experiments/d3p/vae-mnist.toml --non-private --out plain

The folder of results holds result.json, losses.csv, the weights as NumPy arrays, and
images.png: test images, their reconstructions, and generated images.

The program looks for files of images beside the experiment and in the folder FEDPVI_DATA
(default ../shared/data).`
}

func (c *autoencoderCommand) Run(ctx context.Context, common *cli.Common) error {
	settings := c.Set
	if c.NonPrivate {
		settings = append([]string{autoencoder.NonPrivate}, settings...)
	}
	spec, err := autoencoder.Load(c.File, settings)
	if err != nil {
		return err
	}
	if c.Plan {
		return c.plan(spec)
	}
	seed := given(c.Seed, spec.Seed)
	folder := cmp.Or(c.Out, filepath.Join("runs", fmt.Sprintf("%s-seed-%d", spec.Name, seed)))
	if err := sim.CheckFolder(folder); err != nil {
		return err
	}
	result, err := c.train(ctx, spec, seed, folder, common)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	fmt.Printf("%s\n\n", spec.Title)
	if err := result.Text(os.Stdout); err != nil {
		return err
	}
	_, err = fmt.Printf("\nResults: %s\n", folder)
	return err
}

func (c *autoencoderCommand) plan(spec *autoencoder.Spec) error {
	accounting, err := spec.Account(c.Pixels)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(accounting)
	}
	return accounting.Text(os.Stdout)
}

func (c *autoencoderCommand) train(ctx context.Context, spec *autoencoder.Spec, seed uint64, folder string, common *cli.Common) (_ *autoencoder.Result, err error) {
	run, err := autoencoder.New(spec, seed, cores(c.Workers))
	if err != nil {
		return nil, err
	}
	devices := c.devices(common.Quiet)
	defer func() { err = errors.Join(err, run.Close(), devices.Close()) }()
	if err := run.Use(devices); err != nil {
		return nil, err
	}
	progress := report.NewProgress(os.Stderr, common.Quiet)
	result, err := run.Train(ctx, func(step int, last *autoencoder.Epoch) {
		progress.Update("step", step, spec.Steps(), func() string {
			if last == nil {
				return ""
			}
			return fmt.Sprintf("test loss %.2f after epoch %d", last.TestLoss, last.Epoch)
		})
	})
	if err != nil {
		progress.Interrupt()
		return nil, err
	}
	return result, run.Write(folder, result)
}
