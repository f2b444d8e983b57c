package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/store"
	"fedpvi/internal/cli"
)

type statusCommand struct {
	studyArg
	jsonFlag
}

func (statusCommand) Help() string {
	return `Examples:

  coordinator status
  coordinator status --json | jq '.studies[].waits'`
}

func (c *statusCommand) Run(e *environment) error {
	return e.with(func(api admin.API) error {
		return c.report(e, api, c.Study)
	})
}

func printStatuses(all []coordinator.Status, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(map[string]any{"studies": append([]coordinator.Status{}, all...)})
	}
	for i, s := range all {
		if i > 0 {
			fmt.Println()
		}
		if err := printStatus(os.Stdout, s, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

func printStatus(w io.Writer, s coordinator.Status, now time.Time) error {
	fmt.Fprintf(w, "%s  %s  %s\n", s.Study, s.Digest[:12], s.Headline(now))
	if s.Reason != "" {
		fmt.Fprintf(w, "  %s\n", s.Reason)
	}
	for _, q := range s.Open {
		fmt.Fprintf(w, "  plan %d of %d: %d of %d answered, closes in %s\n", q.Ask, s.Of, q.Answered, q.Asked, coordinator.Span(q.Deadline.Sub(now)))
	}
	if s.Roster > 1 || len(s.NewKeys) > 0 {
		fmt.Fprintf(w, "  roster: version %d", s.Roster)
		if len(s.NewKeys) > 0 {
			fmt.Fprintf(w, "; new keys in the next version: %s", coordinator.List(s.NewKeys))
		}
		fmt.Fprintln(w)
	}
	if h := s.Rounds; h != nil {
		fmt.Fprintf(w, "  rounds: %d accepted, %d rejected, %d void (%d in a row did not move the posterior)\n", h.Accepted, h.Rejected, h.Void, h.InARow)
	}
	if s.Last != nil {
		for i, line := range s.LastRound() {
			fmt.Fprintf(w, "  %s%s\n", strings.Repeat("  ", min(i, 1)), line)
		}
	}
	if len(s.Clients) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  CLIENT\tSTATE\tANSWERS\tLAST SEEN\tKEY")
	for _, c := range s.Clients {
		state := c.State
		if c.Reason != "" {
			state += ": " + c.Reason
		}
		seen := "-"
		if c.Seen != nil {
			seen = coordinator.Span(now.Sub(*c.Seen)) + " ago"
		}
		if c.Missed != nil {
			seen += ", missed for " + coordinator.Span(now.Sub(*c.Missed))
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%s\t%s\n", c.Name, state, c.Answers, seen, c.Key)
	}
	return t.Flush()
}

type watchCommand struct {
	studyArg
	jsonFlag
	Every time.Duration `help:"Interval between updates." default:"500ms" placeholder:"TIME"`
}

func (watchCommand) Help() string {
	return `Examples:

  coordinator watch
  coordinator watch --every 5s --json

The command exits with 1 if the study is aborted.`
}

func (c *watchCommand) Validate() error {
	if c.Every < 10*time.Millisecond {
		return fmt.Errorf("--every %v: give at least 10ms", c.Every)
	}
	return nil
}

// startingUp is the longest time that a coordinator may take from its start until it accepts
// orders. During this time, a command can neither open the state nor reach the coordinator.
const startingUp = 10 * time.Second

// Run prints a line whenever the status changes. On a terminal, the line replaces the previous one.
// With --quiet, Run prints only the last status. Between two checks it closes its connection and
// the state directory, so that a coordinator can be restarted.
func (c *watchCommand) Run(e *environment) error {
	ticker := time.NewTicker(c.Every)
	defer ticker.Stop()
	show := watcher{json: c.JSON, quiet: e.quiet}
	if cli.Terminal(os.Stdout) && !c.JSON && !e.quiet {
		show.line = cli.NewLine(os.Stdout)
	}
	for seen := time.Now(); ; {
		var over bool
		err := e.with(func(api admin.API) error {
			study, err := e.one(api, c.Study)
			if err != nil {
				return err
			}
			over, err = show.next(study)
			return err
		})
		switch {
		case err == nil:
			seen = time.Now()
		case !errors.Is(err, store.ErrHeld) && !errors.Is(err, admin.ErrNoServer) || time.Since(seen) > startingUp:
			return err
		}
		if over {
			return nil
		}
		select {
		case <-ticker.C:
		case <-e.ctx.Done():
			return e.ctx.Err()
		}
	}
}

type watcher struct {
	line  *cli.Line // the terminal line to redraw; nil if each status gets a new line
	json  bool
	quiet bool // whether to print only the last status
	last  string
}

var errAborted = errors.New("the study was aborted")

func (w *watcher) next(s coordinator.Status) (over bool, err error) {
	now := time.Now()
	steady := s.Headline(s.Since) // headline without the elapsed time
	line := s.Study + ": " + s.Headline(now)
	over = s.Phase == coordinator.Ended || s.Phase == coordinator.Aborted
	switch {
	case w.quiet && !over:
	case w.line != nil:
		w.line.Draw(line)
	case steady != w.last && w.json:
		// The JSON is on a single line, for programs that read line by line.
		err = json.NewEncoder(os.Stdout).Encode(s)
	case steady != w.last:
		fmt.Println(line)
	}
	w.last = steady
	if over && w.line != nil {
		w.line.End()
	}
	if err == nil && s.Phase == coordinator.Aborted {
		err = fmt.Errorf("%w %s", errAborted, s.Reason)
	}
	return over, err
}
