package truth

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// An Outcome is a line in the results file. It has several replications of one cell.
type Outcome struct {
	Cell         Cell           `json:"cell"`
	Seed         uint64         `json:"seed"` // seed of the first replication; the others use the seeds that follow
	Replications []*Replication `json:"replications"`
}

// Options configures a run.
type Options struct {
	Cells        []Cell
	Replications int
	Seed         uint64 // seed of the first replication
	Grid         bool   // whether to simulate every cell with the settings of the grid too
	Jobs         int    // number of cells that are simulated at the same time; it does not affect the results
	// results file; cells that it has for the same seed are skipped
	Out      string
	Clock    func() float64
	Progress func(done, of int, c *Cell) // called after every cell
}

// Run simulates the cells of o. It appends a line for each cell to the results file, unless the
// file has one.
func Run(ctx context.Context, o Options) (err error) {
	before, err := Read(o.Out)
	if err != nil {
		return err
	}
	there := map[[2]uint64]bool{}
	for _, b := range before {
		if o.Grid && b.Seed == o.Seed && len(b.Replications) > 0 && b.Replications[0].Grid == nil && slices.ContainsFunc(o.Cells, b.isOf) {
			return fmt.Errorf("%s: has cell %d without the grid: name another file of results", o.Out, b.Cell.Number)
		}
		there[[2]uint64{uint64(b.Cell.Number), b.Seed}] = true
	}
	var open []Cell
	for _, c := range o.Cells {
		if !there[[2]uint64{uint64(c.Number), o.Seed}] {
			open = append(open, c)
		}
	}
	file, err := os.OpenFile(o.Out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("file of results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	jobs, ctx := errgroup.WithContext(ctx)
	jobs.SetLimit(max(1, o.Jobs))
	var mu sync.Mutex // guards done and file
	done := 0
	for i := range open {
		jobs.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			line, err := open[i].line(ctx, &o)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if _, err := file.Write(line); err != nil {
				return err
			}
			if done++; o.Progress != nil {
				o.Progress(done, len(open), &open[i])
			}
			return nil
		})
	}
	return jobs.Wait()
}

func (c *Cell) line(ctx context.Context, o *Options) ([]byte, error) {
	outcome := Outcome{Cell: *c, Seed: o.Seed}
	for i := range o.Replications {
		r, err := c.Play(ctx, o.Seed+uint64(i), o.Clock)
		if err != nil {
			return nil, err
		}
		if o.Grid {
			if err := c.playGrid(ctx, r); err != nil {
				return nil, err
			}
		}
		outcome.Replications = append(outcome.Replications, r)
	}
	line, err := json.Marshal(&outcome)
	return append(line, '\n'), err
}

// Read returns the outcomes in a results file, or nothing if the file does not exist. If an
// interruption has left an incomplete last line, Read removes it.
func Read(path string) (all []Outcome, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("file of results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := bufio.NewReader(file)
	var whole int64 // length in bytes of the complete lines that were read so far
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil { // the end
			return all, file.Truncate(whole)
		}
		whole += int64(len(line))
		var o Outcome
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		all = append(all, o)
	}
}

// Of returns only the outcomes that belong to the given cells.
func Of(all []Outcome, cells []Cell) (some []Outcome) {
	for _, o := range all {
		if slices.ContainsFunc(cells, o.isOf) {
			some = append(some, o)
		}
	}
	return some
}

func (o *Outcome) isOf(c Cell) bool { return c.Number == o.Cell.Number }
