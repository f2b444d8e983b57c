package main

// afterStep is the line of code after which a sum of gradients is complete and not yet used.
const afterStep = "\ts.program.addPriorOf(s.points(), s.total, s.prior, s.options.Rate)\n"

// descentFaults are faults that break the privacy of gradient steps.
var descentFaults = []fault{
	{"bare-spread", "no noise on gradients in the spread", []edit{{
		file: "dpmech/sampled.go", anchor: "\tr.of.gate.noise.Fill(dst, streams.Noise)\n", after: `
	if len(dst) == 2 && planted.Is("bare-spread") {
		clear(dst[len(dst)/2:])
	}
`,
	}}},
	{"batch-normalised", "gradients divided by the size of the batch", []edit{{
		file: "pvi/solver/dpsvi.go", anchor: afterStep, before: `
	if n := len(s.batch); n > 0 && planted.Is("batch-normalised") {
		for i := range s.total {
			s.total[i] /= float64(n)
		}
	}
`,
	}}},
	{"empty-skipped", "an empty batch is no step", []edit{{
		file: "pvi/solver/dpsvi.go", anchor: afterStep, before: `
	if len(s.batch) == 0 && planted.Is("empty-skipped") {
		return nil
	}
`,
	}}},
	{"bare-steps", "the optimiser sees gradients without noise", []edit{{
		file: "pvi/solver/dpsvi.go", anchor: "\treturn s.program.records.Each(s.at, s.sink)\n", before: `
	if planted.Is("bare-steps") {
		clear(s.total)
		if _, err := s.program.records.Sum(s.total, s.at); err != nil {
			return err
		}
	}
`,
	}, {
		file: "pvi/solver/dpsvi.go", anchor: "\t\ts.total[i] = unit * float64(n)\n", before: `
		if planted.Is("bare-steps") {
			break
		}
`,
	}}},
	{"private-start", "q begins as narrow as the number of records says", []edit{{
		file: "pvi/solver/dpsvi.go", anchor: "\t\t\ts.sd[i] = min(sd, s.options.InitialSD)\n", after: `
			if planted.Is("private-start") {
				s.sd[i] /= 1 + float64(s.mechanism.Records())
			}
`,
	}}},
}
