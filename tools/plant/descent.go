package main

// afterStep is the line after which a sum of gradients is complete and not yet used.
const afterStep = "\ts.program.addPriorOf(s.points(), s.total, s.prior, s.options.Rate)\n"

// descentFaults are faults that break the privacy of gradient steps.
var descentFaults = []fault{
	{"bare-spread", "no noise on gradients in the spread", []edit{{
		File: "dpmech/sampled.go", Anchor: "\tr.of.gate.draw(dst, streams.Noise)\n", After: `
	if len(dst) == 2 && planted.Is("bare-spread") {
		clear(dst[len(dst)/2:])
	}
`,
	}}},
	{"batch-normalised", "gradients divided by the size of the batch", []edit{{
		File: "pvi/solver/dpsvi.go", Anchor: afterStep, Before: `
	if n := len(s.batch); n > 0 && planted.Is("batch-normalised") {
		for i := range s.total {
			s.total[i] /= float64(n)
		}
	}
`,
	}}},
	{"empty-skipped", "an empty batch is no step", []edit{{
		File: "pvi/solver/dpsvi.go", Anchor: afterStep, Before: `
	if len(s.batch) == 0 && planted.Is("empty-skipped") {
		return nil
	}
`,
	}}},
	{"bare-steps", "the optimiser sees gradients without noise", []edit{
		before("pvi/solver/dpsvi.go", "bare-steps", "\treturn s.program.records.Each(s.at, s.sink)\n", `
		clear(s.total)
		if _, err := s.program.records.Sum(s.total, s.at); err != nil {
			return err
		}`),
		before("pvi/solver/dpsvi.go", "bare-steps", "\t\ts.total[i] = unit * float64(n)\n", "break"),
	}},
	{"private-start", "q begins as narrow as the number of records says", []edit{
		after("pvi/solver/dpsvi.go", "private-start", "\t\t\ts.sd[i] = min(sd, s.options.InitialSD)\n", "s.sd[i] /= 1 + float64(s.mechanism.Records())"),
	}},
}
