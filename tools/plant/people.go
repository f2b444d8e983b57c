package main

// personFaults are faults that break the privacy of persons with several rows.
var personFaults = []fault{
	{"lot-by-position", "rows of a person drawn by position", []edit{{
		File: "pvi/shard/people.go", Anchor: "\t\ttext = binary.BigEndian.AppendUint64(text, uint64(n))\n", Before: `
		if planted.Is("lot-by-position") {
			text = binary.BigEndian.AppendUint64(text, uint64(rows[n]))
		}
`,
	}}},
	{"person-split", "rows of a person in several batches", []edit{{
		File: "pvi/method/steps/base.go", Anchor: "func (b *Base) Drawing(sampling dpmech.Sampling, s *shard.Shard) (*dpmech.SampledSum, error) {\n", After: `
	if planted.Is("person-split") {
		return b.by(sampling, s.Len(), nil, b.sampled.NoiseMultiplier())
	}
`,
	}}},
	{"person-as-row", "a person charged as a row", []edit{{
		File: "dpmech/config.go", Anchor: "\treturn factor * float64(max(1, c.PerUnit))\n", Before: `
	if planted.Is("person-as-row") {
		return factor
	}
`,
	}}},
}
