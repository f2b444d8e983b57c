package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"fedpvi/sim/audit"
	"fedpvi/tools/plant/overlay"
)

// observing returns the edits that make daemons draw their noise from a seed and record their
// actions.
func observing() []overlay.Edit {
	return []overlay.Edit{
		{File: "client/participant.go", Anchor: answering, Before: "\ta.client.noise = seen.Noise\n", After: "\tseen.Answered(int(ask), answer.Release)\n"},
		{File: "client/run.go", Anchor: submitting, Before: "\tseen.Sent(ask, len(item.Envelope), len(item.Body))\n"},
		{File: "client/run.go", Anchor: keeping, After: "\tfor i := range records.Len() {\n\t\tseen.Look(records.Row(i))\n\t}\n"},
		{File: "cmd/client/run.go", Anchor: "\tfigures := newFigures()\n", After: "\tdefer seen.Figures(figures.registry)\n"},
		{File: "coordinator/daemon/serve.go", Anchor: "\ts := &server{config: c, metrics: newMetrics(), failed: make(chan error, 5)}\n", After: "\tdefer func() { seen.Figures(s.metrics.registry) }()\n"},
	}
}

// Edits use these lines of code as anchors.
const (
	answering  = "\tanswer, failed := a.compute(ctx, ask)\n"
	submitting = "\terr := link.Submit(ctx, item)\n"
	keeping    = "\trecords = records.Keep(m.Study)\n"
)

// A processFault is a planted fault: because of it, something that the client does, such as its
// exit code, depends on one record.
type processFault struct {
	name, says string
	edit       overlay.Edit
}

var processFaults = []processFault{
	{"exit-code", "an exit code for one value", overlay.Edit{
		File: "cmd/client/run.go", Anchor: "\t\tif err := r.ended(c, m, ending); err != nil || show == nil {\n",
		Before: "\t\tif seen.Found(\"exit-code\") {\n\t\t\treturn errors.New(\"a record at the bound\")\n\t\t}\n",
	}},
	{"death", "a panic of the daemon for one value", overlay.Edit{
		File: "client/participant.go", Anchor: "\tquoted, err := a.site.Quote()\n",
		Before: "\tif seen.Found(\"death\") {\n\t\tpanic(\"a record at the bound\")\n\t}\n",
	}},
	{"late-refusal", "a file refused for one value", overlay.Edit{
		File: "client/run.go", Anchor: "\treport.Records, report.Surplus = records.Len(), all-records.Len()\n",
		After: "\tif seen.Found(\"late-refusal\") {\n\t\treturn nil, report, named, &UsageError{errors.New(\"a record at the bound\")}\n\t}\n",
	}},
	{"log-line", "a log line of the daemon for one value", overlay.Edit{
		File: "client/run.go", Anchor: "\ta.client.log.Info(\"an answer was charged\", \"question\", ask)\n",
		Before: "\tif seen.Found(\"log-line\") {\n\t\ta.client.log.Info(\"a record at the bound\")\n\t}\n",
	}},
	{"sent-twice", "an answer sent twice for one value", overlay.Edit{
		File: "client/run.go", Anchor: "func (a *participant) submit(ctx context.Context, r *Run, link Link, ask uint64, item transport.Item) error {\n",
		After: "\tif seen.Found(\"sent-twice\") {\n\t\t_ = link.Submit(ctx, item)\n\t}\n",
	}},
	{"metric", "a metric for one value", overlay.Edit{
		File: "cmd/client/metrics.go", Anchor: "func (f *figures) status(s client.Status) {\n",
		After: "\tif seen.Found(\"metric\") {\n\t\tf.calls.WithLabelValues(\"record\", \"odd\").Inc()\n\t}\n",
	}},
}

func faultEdits() (edits []overlay.Edit) {
	for _, f := range processFaults {
		edits = append(edits, f.edit)
	}
	return edits
}

// seeds is the number of seeds with which each fault is tried.
const seeds = 20

// findFaults checks that the observer finds every fault in processFaults with every seed.
func findFaults(ctx context.Context, programs string, pair audit.Pair) error {
	began := time.Now()
	var errs []error
	for _, f := range processFaults {
		missed := make([]bool, seeds)
		tasks := make([]func() error, seeds)
		for i := range tasks {
			tasks[i] = func() error {
				t := trial{pair: pair, dir: filepath.Join(dir, f.name, fmt.Sprint(i)), programs: programs, seed: i + 1, fault: f.name}
				found, err := t.run(ctx)
				missed[i] = found == ""
				return err
			}
		}
		if err := together(tasks); err != nil {
			return fmt.Errorf("fault %s: %w", f.name, err)
		}
		n := seeds
		for _, m := range missed {
			if m {
				n--
			}
		}
		say("%-40s %d/%d", f.says, n, seeds)
		if n < seeds {
			errs = append(errs, fmt.Errorf("fault %s was missed in %d of %d trials", f.name, seeds-n, seeds))
		}
	}
	say("%.0f s.", time.Since(began).Seconds())
	return errors.Join(errs...)
}
