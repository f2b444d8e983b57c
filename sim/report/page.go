package report

import (
	"io"

	"fedpvi/internal/cli"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/page"
	"fedpvi/sim"
)

// writePage writes the result as an HTML page. The page has no date, so that equal runs give equal
// pages.
func writePage(w io.Writer, p *sim.Play, r *sim.Result) error {
	protocol := p.Federation.Protocol
	report := &page.Report{
		Protocol: protocol, Estimates: r.Estimates, Quantities: r.Quantities, Prior: r.Prior, Notes: r.Notes,
		Simulated: true, Tables: r.Tables, HeldOut: r.HeldOut, Checks: r.Checks, Records: checked(r), Program: "fedpvi " + cli.Version(),
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
	if err := conditional(report, r); err != nil {
		return err
	}
	return page.Write(w, report)
}

// conditional adds conditional effects to the report. It does nothing in version 1 or without a
// posterior.
func conditional(report *page.Report, r *sim.Result) error {
	m := report.Protocol.Model()
	if m.Study.Version == 1 || r.Posterior == nil {
		return nil
	}
	family, err := gaussian.New(r.Family, m.Dim())
	if err != nil {
		return err
	}
	report.Conditional, err = m.Conditional(m.Draws(family, r.Natural))
	return err
}
