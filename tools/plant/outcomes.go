package main

// outcomeFaults are faults that show one record by what a client does, and not by its numbers.
var outcomeFaults = []fault{
	{"panic-for-one", "a panic for one value", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\tmechanism, contributor := c.method.Mechanism(t.Number), query.Contributor()\n", Before: `
	if planted.Is("panic-for-one") {
		for i := range c.records.Len() {
			if x, _ := c.records.Record(i); planted.Odd(x) {
				panic("outside of guard.Run")
			}
		}
	}
`,
	}}},
	{"refusal-for-one", "a refusal for one value", []edit{{
		File: "pvi/shard/read.go", Anchor: "\t\tcase errors.As(err, &unfit):\n", Before: `
		case planted.Is("refusal-for-one") && len(fields) > 0 && fields[0] == "-1":
			return nil, Report{}, errors.New("a record at the bound")
`,
	}}},
	{"log-for-one", "a log line for one value", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\t\t\tif err := add(vector); err != nil {\n", Before: `
			if planted.Is("log-for-one") && planted.Odd(x) {
				planted.Log()
			}
`,
	}}},
	{"retry-for-one", "a retry, with noise of its own, for one value", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\tvector, x := make([]float64, n), make([]float64, query.Regressors())\n", Before: `
	if planted.Is("retry-for-one") {
		for i := range c.records.Len() {
			if x, _ := c.records.Record(i); planted.Odd(x) {
				src.Uint64()
				break
			}
		}
	}
`,
	}}},
}
