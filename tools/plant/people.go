package main

// personFaults are faults that break the privacy of people who have several rows.
var personFaults = []fault{
	{"lot-by-position", "rows of a person drawn by position", []edit{
		before("pvi/shard/people.go", "lot-by-position", "\t\ttext = binary.BigEndian.AppendUint64(text, uint64(n))\n", `
		text = binary.BigEndian.AppendUint64(text, uint64(rows[n]))`),
	}},
	{"person-split", "rows of a person in several batches", []edit{
		after("pvi/method/steps/base.go", "person-split", "func (b *Base) Drawing(sampling dpmech.Sampling, s *shard.Shard) (*dpmech.SampledSum, error) {\n", `
		return b.by(sampling, s.Len(), nil, b.sampled.NoiseMultiplier())`),
	}},
	{"person-as-row", "a person charged as a row", []edit{
		before("dpmech/config.go", "person-as-row", "\treturn factor * float64(max(1, c.PerUnit))\n", "return factor"),
	}},
}
