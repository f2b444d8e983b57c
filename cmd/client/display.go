package main

import (
	"fmt"
	"time"

	"fedpvi/client"
	"fedpvi/internal/cli"
)

// A display shows the progress of a study on one line of a terminal, which it redraws.
type display struct {
	line   *cli.Line // nil if nothing is to be shown
	now    client.Status
	events chan client.Status
	over   chan struct{}
}

// tick is the interval at which a display is redrawn.
const tick = time.Second

func newDisplay(line *cli.Line) *display {
	d := &display{line: line, events: make(chan client.Status), over: make(chan struct{})}
	go d.loop()
	return d
}

func (d *display) status(s client.Status) { d.events <- s }

// done stops the display, and leaves its last line on the terminal.
func (d *display) done() {
	close(d.events)
	<-d.over
}

func (d *display) loop() {
	defer close(d.over)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case s, ok := <-d.events:
			if !ok {
				if d.line != nil {
					d.line.End()
				}
				return
			}
			d.now = s
		case <-ticker.C:
		}
		if d.line != nil && d.now.Study != "" {
			d.line.Draw(d.text())
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
