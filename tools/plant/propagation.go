package main

// propagationFaults are faults that break the privacy of expectation propagation. They have
// occurred in published code.
var propagationFaults = []fault{
	{"sites-as-removed", "a replaced site accounted without its factor 2", []edit{
		before("dpmech/independent.go", "sites-as-removed", "\treturn repeated(accountant.Gaussian{", `
		return repeated(accountant.Gaussian{Sensitivity: 1, Sigma: sigma, Adjacency: adjacency}, steps, 1)`),
	}},
	{"sites-in-order", "records matched in a fixed order, as if drawn", []edit{{
		File: "dpmech/sampled.go", Anchor: "\tr.of.gate.draw(dst, streams.Noise)\n", Before: `
	if p, ok := r.of.cfg.Sampling.(Poisson); ok && p.Rate < 1 && r.of.cfg.Records > 0 && planted.Is("sites-in-order") {
		r.batch = planted.InOrder(r, r.batch[:0], 1, r.of.cfg.Records)
	}
`,
	}}},
	{"noise-skipped", "no noise where the factor is improper", []edit{{
		File: "pvi/ep/dpsep.go", Anchor: "\tunit := s.mechanism.Lattice().Step()\n", Before: `
	if planted.Is("noise-skipped") && s.noisy[len(s.noisy)-1] < 0 {
		clear(s.total)
		site := s.sites[:len(s.total)]
		for i := range s.factor.tilted.Records() {
			s.factor.sites(site, []uint32{uint32(i)})
			for j, x := range site {
				s.total[j] += x
			}
		}
		for j, x := range s.total {
			s.noisy[j] = int64(x / s.mechanism.Lattice().Step())
		}
	}
`,
	}}},
}
