package main

// outcomeFaults are faults that show one record by what a client does, and not by its numbers.
var outcomeFaults = []fault{
	{"panic-for-one", "a panic for one value", []edit{{
		file: "pvi/method/scores/scores.go", anchor: "\tmechanism, contributor := c.method.Mechanism(t.Number), query.Contributor()\n", before: `
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
		file: "pvi/shard/read.go", anchor: "func (d *decoder) decode(fields []string) error {\n", after: `
	if planted.Is("refusal-for-one") && fields[0] == "-1" {
		return d.errorf("", "a record at the bound")
	}
`,
	}}},
	{"log-for-one", "a log line for one value", []edit{{
		file: "pvi/method/scores/scores.go", anchor: "\t\t\tif err := add(vector); err != nil {\n", before: `
			if planted.Is("log-for-one") && planted.Odd(x) {
				planted.Log()
			}
`,
	}}},
	{"retry-for-one", "a retry, with noise of its own, for one value", []edit{{
		file: "pvi/method/scores/scores.go", anchor: "\tvector, x := make([]float64, n), make([]float64, query.Regressors())\n", before: `
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
