package study_test

import (
	"strings"
	"testing"

	"fedpvi/internal/testing/linestudy"
)

func TestCombinationsThatMeanNothing(t *testing.T) {
	const (
		record  = "unit = \"record\"\nepsilon = 1.0\ndelta = 1e-5"
		factors = "rounds = 2\nsolver = \"clipped-analytical\"\nfactors = \"tied\"\nintervals = \"none\""
		median  = "combine = \"median\"\nnominal_records = 20"
	)
	for name, c := range map[string]struct {
		parts linestudy.Parts
		says  string
	}{
		"factors":       {linestudy.Parts{Version: 2, Privacy: record, Inference: factors, Federation: median}, ""},
		"the sum":       {linestudy.Parts{Version: 1, Privacy: record, Inference: "rounds = 1", Federation: "combine = \"sum\""}, ""},
		"version 1":     {linestudy.Parts{Version: 1, Privacy: record, Inference: factors, Federation: median}, "federation.combine: needs version 2"},
		"scoring":       {linestudy.Parts{Version: 2, Privacy: record, Federation: median}, `Write solver = "clipped-analytical"`},
		"exact factors": {linestudy.Parts{Version: 2, Privacy: record, Inference: strings.Replace(factors, "tied", "exact", 1), Federation: median}, `factors = "tied"`},
		"sums":          {linestudy.Parts{Version: 2, Privacy: record, Inference: "solver = \"scoring\"", Federation: median + "\nopens = \"sums\""}, `federation.opens = "messages"`},
		"a client":      {linestudy.Parts{Version: 2, Privacy: strings.Replace(record, "record", "client", 1), Federation: median}, "publishes none"},
		"no privacy":    {linestudy.Parts{Version: 2, Federation: median}, "publishes none"},
		"another word":  {linestudy.Parts{Version: 2, Privacy: record, Inference: factors, Federation: "combine = \"mean\""}, `"trimmed"`},
	} {
		t.Run(name, func(t *testing.T) { expect(t, string(linestudy.Document(c.parts)), c.says) })
	}
}
