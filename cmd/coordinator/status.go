package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/store"
	"fedpvi/internal/cli"
	"fedpvi/pvi/session"
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
	fmt.Fprintf(w, "%s  %s  %s\n", s.Study, s.Digest[:12], headline(s, now))
	if s.Reason != "" {
		fmt.Fprintf(w, "  %s\n", s.Reason)
	}
	for _, q := range s.Open {
		fmt.Fprintf(w, "  plan %d of %d: %d of %d answered, closes in %s\n", q.Ask, s.Of, q.Answered, q.Asked, span(q.Deadline.Sub(now)))
	}
	if s.Roster > 1 || len(s.NewKeys) > 0 {
		fmt.Fprintf(w, "  roster: version %d", s.Roster)
		if len(s.NewKeys) > 0 {
			fmt.Fprintf(w, "; new keys in the next version: %s", list(s.NewKeys))
		}
		fmt.Fprintln(w)
	}
	if h := s.Rounds; h != nil {
		fmt.Fprintf(w, "  rounds: %d accepted, %d rejected %d void (%d in a row did not move the posterior)\n", h.Accepted, h.Rejected, h.Void, h.InARow)
	}
	if s.Last != nil {
		printRound(w, s.Last)
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
			seen = span(now.Sub(*c.Seen)) + " ago"
		}
		if c.Missed != nil {
			seen += ", missed for " + span(now.Sub(*c.Missed))
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%s\t%s\n", c.Name, state, c.Answers, seen, c.Key)
	}
	return t.Flush()
}

// printRound writes how a round ended. If the coordinator opens the messages of the clients, it
// also writes the influence of each answer.
func printRound(w io.Writer, r *session.Round) {
	fmt.Fprintf(w, "  plan %d was %s", r.Plan, r.Verdict)
	if r.Missing != nil {
		fmt.Fprintf(w, ", without the answer of %s", list(r.Missing))
	}
	fmt.Fprintln(w)
	for _, i := range r.Influences {
		fmt.Fprintf(w, "    %s: %.3g times the median norm of the other answers", i.Client, i.Norm)
		switch {
		case i.Blocks:
			fmt.Fprint(w, "; without it the round would have been accepted")
		case i.Shift > 0:
			fmt.Fprintf(w, "; without it a coefficient moves by %.3g sds of %s", i.Shift, r.SDs)
		}
		fmt.Fprintln(w)
	}
}

// headline returns one line with the progress of the study, the event that the study waits for,
// and the time since it began to wait.
func headline(s coordinator.Status, now time.Time) string {
	text := string(s.Phase)
	if s.Phase == coordinator.Running {
		text = fmt.Sprintf("plan %d of %d", s.Asked, s.Of)
	}
	if s.Waits == "" {
		return text
	}
	text += ", waiting for " + s.Waits
	if len(s.For) > 0 {
		text += ": " + list(s.For)
	}
	if gone := missed(s); len(gone) > 0 {
		text += " (gossip misses " + list(gone) + ")"
	}
	return text + ", since " + span(now.Sub(s.Since))
}

// missed returns the clients whose answers are missing and with which gossip has lost contact.
func missed(s coordinator.Status) (gone []string) {
	for _, c := range s.Clients {
		if c.Missed != nil && slices.Contains(s.For, string(c.Name)) {
			gone = append(gone, string(c.Name))
		}
	}
	return gone
}

// span returns a duration as readable text.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d <= 0:
		return "0s"
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

type watchCommand struct {
	studyArg
	jsonFlag
	Every time.Duration `help:"Interval between two looks." default:"500ms" placeholder:"TIME"`
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

// startingUp is the maximum time that a coordinator needs between opening the state and
// accepting orders.
const startingUp = 10 * time.Second

// Run prints a line for each change of the status, or with --quiet only for the last. On a
// terminal the new line replaces the last line. Between two checks Run closes its connection and the state directory, so that a
// coordinator can be restarted meanwhile.
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

// A watcher prints changes of the status.
type watcher struct {
	line  *cli.Line // line of the terminal; nil if lines are printed one below the other
	json  bool
	quiet bool // whether only the last status is printed
	last  string
}

var errAborted = errors.New("the study was aborted")

func (w *watcher) next(s coordinator.Status) (over bool, err error) {
	now := time.Now()
	steady := headline(s, s.Since) // status line without the elapsed time
	line := s.Study + ": " + headline(s, now)
	over = s.Phase == coordinator.Ended || s.Phase == coordinator.Aborted
	switch {
	case w.quiet && !over:
	case w.line != nil:
		w.line.Draw(line)
	case steady != w.last && w.json:
		// The JSON is on one line, because the reader may be a program that reads line by line.
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
