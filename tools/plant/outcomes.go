package main

// outcomeFaults are faults that make a client's behaviour, but not its released numbers, depend on
// one record.
var outcomeFaults = []fault{
	{"panic-for-one", "a panic for one value", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\t\t\tcontributor.Vector(vector, i)\n", Before: `
			if planted.Is("panic-for-one") && planted.Odd(contributor.Margins(i)) {
				panic("outside of guard.Run")
			}
`,
	}}},
	{"refusal-for-one", "a refusal for one value", []edit{{
		File: "pvi/shard/read.go", Anchor: "\t\tcase errors.As(err, &unfit):\n", Before: `
		case planted.Is("refusal-for-one") && len(cells) > 0 && cells[0].Text == "-1":
			return errors.New("a record at the bound")
`,
	}}},
	{"log-for-one", "a log line for one value", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\t\t\tif i%together == together-1 || i == c.records.Len()-1 {\n", Before: `
			if planted.Is("log-for-one") && planted.Odd(contributor.Margins(i)) {
				planted.Log()
			}
`,
	}}},
	{"retry-for-one", "a retry, with noise of its own, for one value", []edit{
		before("pvi/method/scores/scores.go", "retry-for-one", "\tvectors := make([]float64, together*n)\n", `
		contributor := query.Contributor(c.records)
		for i := range c.records.Len() {
			if planted.Odd(contributor.Margins(i)) {
				src.Uint64()
				break
			}
		}`),
	}},
}
