package main

import (
	"encoding/json"
	"os"
	"runtime/debug"

	"fedpvi/accountant"
	"fedpvi/sim/calculator"
	"fedpvi/sim/report"
)

type privacyCommand struct {
	Sampling        string    `help:"How a step samples records: ${enum}." enum:"none,poisson,without-replacement,random-allocation,permutation" default:"none"`
	Adjacency       string    `help:"Which data sets count as neighbours: ${enum}. Without sampling, replace-one is add-remove with half the noise." enum:"add-remove,replace-one,zero-out" default:"add-remove"`
	NoiseMultiplier *float64  `help:"Standard deviation of the noise, in units of the clip norm." placeholder:"σ"`
	Q               *float64  `name:"q" help:"Sampling rate: the expected share of the records in a step, or one over the number of batches." placeholder:"Q"`
	Steps           *int      `help:"Number of releases." placeholder:"N"`
	Delta           *float64  `help:"δ of the promise." placeholder:"δ"`
	Epsilon         *float64  `help:"ε of the promise. With it, leave out another one of these five." placeholder:"ε"`
	FPR             []float64 `name:"fpr" help:"Report an attacker's true positive rate at this false positive rate. May be repeated." default:"0.001" placeholder:"RATE"`
	Prior           float64   `help:"An attacker's prior probability that the record is present." default:"0.5"`
	Group           int       `help:"Also state the promise for groups of this many records, such as a household." default:"4"`
	Compare         bool      `help:"Compare all methods, and the other adjacencies."`
	Plot            string    `help:"Plot an attacker's trade-off; .svg or .png." placeholder:"FILE"`
	JSON            bool      `name:"json" help:"Print the answer as one JSON object."`
}

func (privacyCommand) Help() string {
	return `Leave out one of --noise-multiplier, --q, --steps, --epsilon and --delta: the command computes
it, on the safe side.

Examples:

  the cost of noise:
    sim privacy --sampling poisson --noise-multiplier 1 --q 0.01 --steps 1000 --delta 1e-5
  the noise for a budget:
    sim privacy --sampling poisson --epsilon 1 --q 0.01 --steps 1000 --delta 1e-5
  the number of steps within a budget:
    sim privacy --sampling poisson --epsilon 1 --q 0.01 --noise-multiplier 1 --delta 1e-5
  ten epochs of a hundred shuffled batches:
    sim privacy --sampling permutation --adjacency zero-out --noise-multiplier 4 --q 0.01 --steps 1000 --delta 1e-5
  other methods and other adjacencies:
    sim privacy --noise-multiplier 5 --steps 10 --delta 1e-5 --compare
  for a script, and for a paper:
    sim privacy --noise-multiplier 5 --steps 10 --delta 1e-5 --json | jq .epsilon_upper
    sim privacy --noise-multiplier 5 --steps 10 --delta 1e-5 --plot trade-off.svg

A step releases a sum of vectors, each clipped to the clip norm, with Gaussian noise. Choose
the sampling that the program implements: shuffled batches are not a Poisson sample, and cost
more.`
}

func (c *privacyCommand) Run() error {
	// This limit makes the garbage collector free the accountant's few large arrays early.
	debug.SetMemoryLimit(160 << 20)
	if err := checkPlot(c.Plot); err != nil {
		return err
	}
	a, err := calculator.Ask(calculator.Question{
		Sampling:        calculator.Sampling(c.Sampling),
		Adjacency:       accountant.Adjacency(c.Adjacency),
		NoiseMultiplier: c.NoiseMultiplier,
		Rate:            c.Q,
		Steps:           c.Steps,
		Epsilon:         c.Epsilon,
		Delta:           c.Delta,
		FPRs:            c.FPR,
		Prior:           c.Prior,
		Group:           c.Group,
		Compare:         c.Compare,
	})
	if err != nil {
		return err
	}
	if err := writePlot(c.Plot, func() (report.Figure, error) { return report.TradeOff(a) }); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(a)
	}
	return report.Calculated(os.Stdout, a)
}
