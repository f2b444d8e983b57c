package report

import (
	"io"

	"fedpvi/internal/cli"
	"fedpvi/pvi/page"
	"fedpvi/sim"
)

// writePage writes the result of a run as one HTML page. The page has no date, so that a run with
// the same seed writes the same page.
func writePage(w io.Writer, p *sim.Play, r *sim.Result) error {
	protocol := p.Federation.Protocol
	report := &page.Report{
		Protocol: protocol, Estimates: r.Estimates, Quantities: r.Quantities, Prior: r.Prior, Notes: r.Notes,
		Simulated: true, Tables: r.Tables, Checks: r.Checks, Records: checked(r), Program: "fedpvi " + cli.Version(),
	}
	if r.Privacy.Promise != nil {
		report.Costs = costs(r.Privacy)
	}
	if shown := r.Shown(); shown != nil {
		for i, parameter := range protocol.Model().Parameters.All() {
			m := shown[i]
			report.Effects = append(report.Effects, page.Effect{Name: m.Name, Natural: m.Natural, Low: m.Lower, High: m.Upper, Log: parameter.Log})
		}
	}
	return page.Write(w, report)
}
