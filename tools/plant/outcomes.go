package main

// outcomeFaults are faults by which one record changes the actions of a client, and not its
// numbers.
var outcomeFaults = []fault{
	{"panic-for-one", "a panic for one value", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\tif guard.Run(func() { c.write(dst, i) }) != nil {\n", Before: `
	if planted.Is("panic-for-one") {
		if c.work.record(i); planted.Odd(c.work.margins()) {
			panic("outside of guard.Run")
		}
	}
`,
	}}},
	{"refusal-for-one", "a refusal for one value", []edit{{
		File: "pvi/shard/read.go", Anchor: "\t\tcase errors.As(err, &unfit):\n", Before: `
		case planted.Is("refusal-for-one") && len(cells) > 0 && cells[0].Text == "-1":
			return nil, Report{}, errors.New("a record at the bound")
`,
	}}},
	{"log-for-one", "a log line for one value", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\tif guard.Run(func() { c.write(dst, i) }) != nil {\n", Before: `
	if planted.Is("log-for-one") {
		if c.work.record(i); planted.Odd(c.work.margins()) {
			planted.Log()
		}
	}
`,
	}}},
	{"retry-for-one", "a retry, with noise of its own, for one value", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\tvector := make([]float64, n)\n", Before: `
	if planted.Is("retry-for-one") {
		for i := range c.records.Len() {
			if contributor.Odd(i) {
				src.Uint64()
				break
			}
		}
	}
`,
	}, {
		File: "pvi/scoring/vector.go", Anchor: "func (c *Contributor) write(dst []float64, i int) {\n", Before: `
func (c *Contributor) Odd(i int) bool {
	c.work.record(i)
	return planted.Odd(c.work.margins())
}

`,
	}}},
}
