package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// partedModel is a model for which clients may divide their records into parts.
const partedModel = `family = "logistic", outcome = "ill", positive = "yes", terms = []`

func TestPartitions(t *testing.T) {
	const record = `unit = "record", epsilon = 1.0, delta = 1e-5, clip = 3.0`
	for _, c := range []struct {
		inference, privacy string
		want               study.Inference
		refused            string
	}{
		{`, partitions = 100`, record, study.Inference{Solver: study.NaturalGradient, Factors: study.Tied, Partitions: study.Partitions{Count: 100}}, ``},
		{`, partitions = 100, partitioned = "averaged", solver = "svi"`, record, study.Inference{Solver: study.SVI, Factors: study.Tied, Partitions: study.Partitions{Count: 100, Averaged: true}}, ``},
		{`, partitions = 1, partitioned = "virtual", factors = "exact"`, record, study.Inference{Solver: study.NaturalGradient, Factors: study.Exact, Partitions: study.Partitions{Count: 1}}, ``},
		{`, partitions = 2, schedule = "sequential"`, record, study.Inference{Solver: study.NaturalGradient, Factors: study.Exact, Partitions: study.Partitions{Count: 2}}, ``},
		{`, partitions = 0`, record, study.Inference{}, `inference.partitions: must lie between 1 and 65535, got 0`},
		{`, partitions = 70000`, record, study.Inference{}, `got 70000`},
		{`, partitions = 10`, `unit = "none"`, study.Inference{}, `have no meaning with privacy.unit = "none"`},
		{`, partitions = 10`, `unit = "client", epsilon = 1.0, delta = 1e-5, clip = 3.0`, study.Inference{}, `have no meaning with privacy.unit = "client"`},
		{`, partitioned = "averaged"`, record, study.Inference{}, `write partitions = 100`},
		{`, partitions = 10, partitioned = "local"`, record, study.Inference{}, `"local" is unknown`},
		{`, partitions = 10, factors = "published"`, record, study.Inference{}, `remember their own noise`},
		{`, partitions = 10, solver = "dp-svi"`, record, study.Inference{}, `adds noise of its own to hide records, but with inference.partitions the noise is added to the sum over the parts: write "natural-gradient"`},
		{`, partitions = 10, schedule = "sequential", factors = "tied"`, record, study.Inference{}, `clients that take turns never converge`},
		{`, partitions = 10`, `unit = "record", epsilon = 1.0, delta = 1e-5`, study.Inference{}, `write the L2 bound on a part's change`},
		{`, partitions = 10, partitioned = "averaged", factors = "exact"`, record + " }\nfederation = { opens = \"sums\"", study.Inference{}, `which must not be read with federation.opens = "sums": write factors = "tied"`},
		{`, partitions = 10, schedule = "sequential"`, record + " }\nfederation = { opens = \"sums\"", study.Inference{}, `not in a sum that hides it`},
		{`, partitions = 10, factors = "exact"`, record + " }\nfederation = { opens = \"sums\"", study.Inference{Solver: study.NaturalGradient, Factors: study.Exact, Partitions: study.Partitions{Count: 10}}, ``},
		{``, record + `, coordinates = "centred"`, study.Inference{}, `or inference.partitions`},
	} {
		s := expect(t, ofFamily(partedModel, c.inference, c.privacy), c.refused)
		if s == nil {
			continue
		}
		in := s.Inference
		if in.Solver != c.want.Solver || in.Factors != c.want.Factors || in.Partitions != c.want.Partitions {
			t.Errorf("%s: solver %q, factors %q, partitions %+v", c.inference, in.Solver, in.Factors, in.Partitions)
		}
		if !s.Privacy.Centred || !in.Damping.Harmonic || in.Q != "full" {
			t.Errorf("%s: centred %t, harmonic %t, q %s", c.inference, s.Privacy.Centred, in.Damping.Harmonic, in.Q)
		}
	}
}

// Parse must not take partitions = 0 for a study without parts, because it would then report a
// second error about the solver.
func TestPartitionsOutOfRangeAreOneError(t *testing.T) {
	source := ofFamily(partedModel, `, partitions = 0, solver = "natural-gradient"`, `unit = "record", epsilon = 1.0, delta = 1e-5, clip = 3.0`)
	if _, err := study.Parse("t.toml", []byte(source)); err == nil || strings.Count(err.Error(), "t.toml") != 1 {
		t.Errorf("partitions = 0: %v", err)
	}
}
