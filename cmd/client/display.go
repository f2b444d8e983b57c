package main

import (
	"fmt"
	"os"
	"time"

	"fedpvi/client"
	"fedpvi/internal/cli"
)

// A display shows the progress of a study on a terminal, in one line that it redraws. If the
// output is not a terminal, it prints nothing, because the client's log shows the progress.
type display struct {
	out    *os.File
	now    client.Status
	events chan client.Status
	over   chan struct{}
}

// tick is the interval at which a display redraws its line.
const tick = time.Second

func newDisplay(out *os.File) *display {
	d := &display{out: out, events: make(chan client.Status), over: make(chan struct{})}
	go d.loop(cli.Terminal(out))
	return d
}

func (d *display) status(s client.Status) { d.events <- s }

// done stops the display and leaves its last line on the terminal.
func (d *display) done() {
	close(d.events)
	<-d.over
}

func (d *display) loop(line bool) {
	defer close(d.over)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case s, ok := <-d.events:
			if !ok {
				if line && d.now.Study != "" {
					fmt.Fprintln(d.out)
				}
				return
			}
			d.now = s
		case <-ticker.C:
		}
		if line && d.now.Study != "" {
			fmt.Fprintf(d.out, "\r\x1b[K%s", d.text())
		}
	}
}

func (d *display) text() string {
	s := d.now
	text := s.Study
	if s.Of > 0 {
		text += fmt.Sprintf("  plan %d of %d", s.Asked, s.Of)
	}
	if s.Waiting == "" {
		return text + "  computing an answer"
	}
	text += fmt.Sprintf("  waiting %s for %s", time.Since(s.Since).Round(time.Second), s.Waiting)
	if s.Missed != "" {
		text += " (gossip misses " + s.Missed + ")"
	}
	return text
}
