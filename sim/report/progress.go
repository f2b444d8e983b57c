package report

import (
	"fmt"
	"io"
	"os"
	"time"

	"fedpvi/internal/cli"
)

// A Progress shows how far a long task has come: in one line on a terminal, or with a line every
// few seconds in a log.
type Progress struct {
	log   io.Writer
	line  *cli.Line // the line on the terminal; nil for a log
	now   func() time.Time
	began time.Time
	shown time.Time
	quiet bool
}

// NewProgress returns a Progress that writes to f. If quiet is true, it writes nothing.
func NewProgress(f *os.File, quiet bool) *Progress {
	p := &Progress{log: f, now: time.Now, quiet: quiet}
	if cli.Terminal(f) {
		p.line = cli.NewLine(f)
	}
	p.began = p.now()
	return p
}

const (
	terminalEvery = 100 * time.Millisecond
	logEvery      = 5 * time.Second
)

// Update reports that done of total units are finished. It writes a line that ends in the result of
// text, unless the previous line is recent and the task goes on.
func (p *Progress) Update(unit string, done, total int, text func() string) {
	if p.quiet {
		return
	}
	now := p.now()
	every := logEvery
	if p.line != nil {
		every = terminalEvery
	}
	if done < total && now.Sub(p.shown) < every && !p.shown.IsZero() {
		return
	}
	if p.shown.IsZero() && p.line == nil && now.Sub(p.began) < every && done < total {
		return // without a terminal, a task that ends this soon writes only its last line
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
	if p.line == nil {
		fmt.Fprintln(p.log, line)
		return
	}
	p.line.Draw(line)
	if done >= total {
		p.line.End()
	}
}

// Interrupt ends the current line so that other output can follow it.
func (p *Progress) Interrupt() {
	if p.line != nil {
		p.line.End()
	}
}

// count3 formats a rate with about three significant digits.
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
