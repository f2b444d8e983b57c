package main

// personFaults are faults that break the privacy of persons with several rows.
var personFaults = []fault{
	{"lot-by-position", "rows of a person drawn by position", []edit{{
		file: "pvi/shard/people.go", anchor: "\t\ttext = binary.BigEndian.AppendUint64(text, uint64(n))\n", before: `
		if planted.Is("lot-by-position") {
			text = binary.BigEndian.AppendUint64(text, uint64(rows[n]))
		}
`,
	}}},
	{"person-split", "rows of a person in several batches", []edit{{
		file: "pvi/method/steps/base.go", anchor: "func (b *Base) Drawing(sampling dpmech.Sampling, s *shard.Shard) (*dpmech.SampledSum, error) {\n", after: `
	if planted.Is("person-split") {
		return b.by(sampling, s.Len(), nil, b.sampled.NoiseMultiplier())
	}
`,
	}}},
	{"person-as-row", "a person charged as a row", []edit{{
		file: "dpmech/config.go", anchor: "\treturn factor * float64(max(1, c.PerUnit))\n", before: `
	if planted.Is("person-as-row") {
		return factor
	}
`,
	}}},
}
