package report

import (
	"fmt"
	"io"
	"os"
	"time"
)

// A Progress shows the progress of a long task. On a terminal it shows one line that changes. In
// a log it writes a line from time to time.
type Progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	began    time.Time
	shown    time.Time
	quiet    bool
}

// NewProgress returns a Progress that writes to f. If quiet is true, it writes nothing.
func NewProgress(f *os.File, quiet bool) *Progress {
	info, err := f.Stat()
	p := &Progress{out: f, now: time.Now, quiet: quiet}
	p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	p.began = p.now()
	return p
}

const (
	terminalEvery = 100 * time.Millisecond
	logEvery      = 5 * time.Second
)

// Update shows that done of total units are finished. It calls text for a description, but only
// if it writes a line.
func (p *Progress) Update(unit string, done, total int, text func() string) {
	if p.quiet {
		return
	}
	now := p.now()
	every := logEvery
	if p.terminal {
		every = terminalEvery
	}
	if done < total && now.Sub(p.shown) < every && !p.shown.IsZero() {
		return
	}
	if p.shown.IsZero() && !p.terminal && now.Sub(p.began) < every && done < total {
		return // a log needs no line about a task that ends within this time
	}
	p.shown = now
	elapsed := now.Sub(p.began).Seconds()
	rate := float64(done) / max(elapsed, 1e-9)
	line := fmt.Sprintf("%s %d/%d", unit, done, total)
	if more := text(); more != "" {
		line += "  " + more
	}
	line += "  " + count3(rate) + "/s"
	if done < total {
		left := time.Duration(float64(total-done) / rate * float64(time.Second))
		line += "  " + left.Round(time.Second).String() + " left"
	} else {
		line += fmt.Sprintf("  %.1f s", elapsed)
	}
	switch {
	case !p.terminal:
		fmt.Fprintln(p.out, line)
	case done < total:
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	default:
		fmt.Fprintf(p.out, "\r\x1b[K%s\n", line)
	}
}

// Interrupt ends the current line, so that other output can follow.
func (p *Progress) Interrupt() {
	if p.terminal && !p.quiet && !p.shown.IsZero() {
		fmt.Fprintln(p.out)
	}
}

// count3 formats a rate with about three digits.
func count3(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.3gM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.3gk", x/1e3)
	default:
		return fmt.Sprintf("%.3g", x)
	}
}
