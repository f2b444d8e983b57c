package study

import (
	"slices"
	"strings"

	"fedpvi/internal/document"
)

func readSimulation(s *Study, root *document.Table) {
	t := root.Table("simulation")
	sim := &s.Simulation
	sim.Partition.Kind = "balanced"
	sim.Seed = 1
	if !root.Has("simulation") {
		return
	}
	if seed, ok := t.Int("seed"); ok {
		if seed < 0 {
			t.Errorf("seed", "must not be negative, got %d", seed)
		}
		sim.Seed = uint64(seed)
	}
	readPartition(s, t)
	readOwn(s, t)
	sim.Data = readFiles(t, "data")
	readTest(s, t)
	synthetic := t.Table("synthetic")
	if s.Model.Absent() {
		refuseAll(t, []string{"test", "baseline", "reference"}, "has no meaning in a study without [model]: remove it")
	}
	if t.Has("synthetic") && s.Model.Absent() {
		t.Errorf("synthetic", "records are drawn from a model, and the study has none: name files of records in data")
		ignore(synthetic)
	} else if t.Has("synthetic") {
		readSynthetic(s, synthetic)
	}
	if t.Has("data") == t.Has("synthetic") {
		t.Errorf("data", "give one source of records: either data, a file, or [simulation.synthetic]")
	}
	readBaseline(s, t)
	reference, _ := t.Choice("reference", "pooled-fit", "markov-chain")
	sim.Chain = reference == "markov-chain"
	if s.Federation.MinClients > sim.Clients && sim.Clients > 0 {
		t.Errorf("clients", "%d clients are fewer than federation.min_clients = %d", sim.Clients, s.Federation.MinClients)
	}
	if sim.Clients > 0 && s.Federation.Colluders >= sim.Clients {
		t.Errorf("clients", "with %d clients and federation.colluders = %d, the colluders know all the noise", sim.Clients, s.Federation.Colluders)
	}
}

func readBaseline(s *Study, t *document.Table) {
	readChoice(t, "baseline", &s.Simulation.Baseline, DPSGLD, OneSample, EP, SEP)
	switch v := s.Simulation.Baseline; v {
	case NoBaseline:
		return
	case EP, SEP:
		if s.Inference.Solver != DPSEP || s.Inference.Descent.Sampling == PublishedSampling {
			t.Errorf("baseline", "%q matches the tilted moments that solver = %q hides: write that solver, and remove inference.sampling", v, DPSEP)
		}
		inOnePlace(s, t)
		return
	case DPSGLD:
		if s.Inference.Descent.StepSize == 0 {
			t.Errorf("baseline", "%q has no default step size: write inference.step_size; a step moves by half of it times the gradient", v)
		}
	case OneSample:
		if s.Privacy.Epsilon == 0 || s.Privacy.Clip == 0 {
			t.Errorf("baseline", "%q needs privacy.epsilon, and privacy.clip, the most by which a record's log likelihood may lie below zero", v)
		}
		if kind := s.Model.Kind(); kind != Binary && kind != Class && kind != Count {
			t.Errorf("baseline", "%q is for outcomes that have probabilities: nothing bounds the density of others", v)
		}
	}
	if s.Privacy.Unit == Person {
		t.Errorf("baseline", "%q hides single records: write privacy.unit = %q and no table.person", s.Simulation.Baseline, Record)
	}
	if s.Inference.Solver != DPSVI || s.partitioned() || s.Federation.Opens == OpenSums {
		t.Errorf("baseline", `a baseline hides a record, as solver = "dp-svi" does with messages that anyone may read: write privacy.unit = "record", and neither partitions nor federation.opens`)
	}
	if d := s.Inference.Descent; d.Sampling != PoissonSampling || d.Gradients != Aligned || d.Draws != 1 || d.StartShare != 0 {
		t.Errorf("baseline", "a baseline takes each step from a single gradient of an independent batch: remove inference.sampling, gradients, draws and start")
	}
	inOnePlace(s, t)
}

// inOnePlace refuses private standardisation and several clients if the study has a baseline,
// because baselines run on the pooled records.
func inOnePlace(s *Study, t *document.Table) {
	if s.Standardisation != nil {
		t.Errorf("baseline", "a baseline has no budget for finding a scale: write model.standardise = %q", "bounds")
	}
	if s.Simulation.Clients > 1 {
		t.Errorf("baseline", "a baseline has all records in one place: write clients = 1, got %d", s.Simulation.Clients)
	}
}

func readFiles(t *document.Table, key string) []string {
	v, _ := t.Value(key)
	if name, ok := v.(string); ok {
		return []string{name}
	}
	names, _ := t.Strings(key)
	return names
}

func readTest(s *Study, t *document.Table) {
	sim := &s.Simulation
	if share, ok := t.Float("test"); ok {
		sim.Test = share
		if !(share > 0 && share < 1) {
			t.Errorf("test", "is the share of the records that is held out, in (0, 1), got %g", share)
		}
	}
	which, _ := t.Choice("test_records", "random", "last")
	sim.TestLast = which == "last"
	if t.Has("test_records") && !t.Has("test") {
		t.Errorf("test_records", "selects the held-out records: write test, their share")
	}
	sim.TestData = readFiles(t, "test_data")
	if t.Has("test") && t.Has("test_data") {
		t.Errorf("test_data", "give one of the two: test, a share of the records, or test_data, separate files")
	}
}

// Own is the prefix in the names of extensions. An extension is a partition, a solver or a clip
// that a program registers in package sim. Coordinators and clients ignore such names.
const Own = "own:"

// readOwnName sets dst if the value of key is the name of an extension (see [Own]). It reports
// whether it is.
func readOwnName(t *document.Table, key string, dst *string) bool {
	v, _ := t.Value(key)
	text, ok := v.(string)
	if !ok || !strings.HasPrefix(text, Own) {
		return false
	}
	if text == Own {
		t.Errorf(key, "write the name of the extension after %q", Own)
	}
	*dst = text
	return true
}

// readOwn reads the names of a solver and of a clip that are extensions. Without privacy, any
// extension is allowed. With the privacy unit client they are safe, because the mechanism hides
// their results.
func readOwn(s *Study, t *document.Table) {
	for i, key := range []string{"solver", "clip"} {
		dst := []*string{&s.Simulation.Solver, &s.Simulation.Clip}[i]
		switch {
		case !t.Has(key):
		case !readOwnName(t, key, dst):
			t.Errorf(key, "names an extension: write %q and its name. The solver and the clip of the study itself are inference.solver and privacy.clip", Own)
		case s.Privacy.Unit != Client && s.Privacy.Unit != None:
			t.Errorf(key, "names an extension, and with privacy.unit = %q the solver itself must add the noise and state its cost, which this program cannot check for an extension: write privacy.unit = %q, where the mechanism of the study hides what any solver computes, or %q, which promises nothing", s.Privacy.Unit, Client, None)
		}
	}
}

func readPartition(s *Study, t *document.Table) {
	sim, p := &s.Simulation, &s.Simulation.Partition
	own := readOwnName(t, "partition", &p.Kind)
	if !own {
		readChoice(t, "partition", &p.Kind, "balanced", "by-size", "label-skew", "column")
	}
	if (own || p.Kind == "label-skew") && s.Privacy.Unit == Person {
		t.Errorf("partition", "%q deals rows, and a person's rows stay with one client: write partition = %q or %q", p.Kind, "balanced", "by-size")
	}
	needs := func(key, remedy string, kinds ...string) bool { // here the prefix Own stands for any extension
		if slices.Contains(kinds, p.Kind) || own && slices.Contains(kinds, Own) {
			t.Require(key, remedy)
			return t.Has(key)
		}
		refuse(t, key, "has no meaning with partition = %q", p.Kind)
		return false
	}
	if needs("clients", "write the number of clients that the records are dealt to", "balanced", "by-size", "label-skew", Own) {
		readCount(t, "clients", &sim.Clients, maxClients)
		if p.Kind != "balanced" && !own && sim.Clients%2 != 0 {
			t.Errorf("clients", "must be even: half of the clients are small, half are large; got %d", sim.Clients)
		}
	}
	if needs("size_skew", "write ρ in [0, 1): small clients hold (1−ρ)N/M records, large ones (1+ρ)N/M", "by-size", "label-skew") {
		readShare(t, "size_skew", &p.SizeSkew, "[0, 1)")
	}
	if needs("label_skew", "write κ: the small clients' share of the majority label is c + (1−c)κ, c the share in all records", "label-skew") {
		p.LabelSkew, _ = t.Float("label_skew")
		if p.LabelSkew > 1 {
			t.Errorf("label_skew", "must be at most 1, at which small clients hold the majority label only, got %g", p.LabelSkew)
		}
	}
	if s.Model.Positive != nil && t.Has("label_threshold") && p.Kind == "label-skew" {
		t.Errorf("label_threshold", "has no meaning here: the label is model.positive")
	}
	if s.Model.Positive == nil && s.Model.Kind() == NoOutcome && p.Kind == "label-skew" {
		t.Errorf("partition", "a mixture or a program has no outcome that could be a label")
	}
	if s.Model.Positive != nil {
		t.Value("label_threshold")
	} else if needs("label_threshold", "a record has the label if its outcome is at least this: write label_threshold in the outcome's unit", "label-skew") {
		p.LabelThreshold, _ = t.Float("label_threshold")
	}
	if needs("column", "name the column that says which client holds a record", "column") {
		p.Column, _ = t.String("column")
		if c, ok := s.Column(p.Column); !ok {
			t.Errorf("column", "column %q is not declared", p.Column)
		} else if c.Type != Categorical {
			t.Errorf("column", "column %q is %s: the levels of a categorical column name the clients", c.Name, c.Type)
		} else {
			sim.Clients = len(c.Levels)
		}
	}
}

func readSynthetic(s *Study, t *document.Table) {
	syn := &Synthetic{Truth: map[string]float64{}, Columns: map[string]Distribution{}}
	s.Simulation.Synthetic = syn
	if s.Model.Family == ByProgram {
		t.Errorf("records_per_client", "the outcomes of a program cannot be drawn: name files of records in simulation.data")
	}
	t.Require("records_per_client", "write how many records each client has")
	readCount(t, "records_per_client", &syn.RecordsPerClient, s.Federation.MaxRecords)
	if sd, ok := t.Float("client_sd"); ok {
		syn.ClientSD = sd
		if sd < 0 {
			t.Errorf("client_sd", "must not be negative, got %g", sd)
		}
		if kind := s.Simulation.Partition.Kind; sd > 0 && kind != "balanced" {
			t.Errorf("client_sd", "with client_sd above 0 the records of each client are drawn separately: partition = %q has no meaning", kind)
		}
	}
	truth := t.Table("truth")
	if s.Model.Conjugate() {
		s.checkCoefficients(truth)
	}
	for _, name := range truth.Keys() {
		syn.Truth[name], _ = truth.Float(name)
	}
	columns := t.Table("columns")
	for _, name := range columns.Keys() {
		inner := columns.Table(name)
		if c, ok := s.Column(name); !ok || c.Type != Numeric || name == s.Model.Outcome {
			columns.Errorf(name, "is not a numeric column that explains the outcome")
		}
		inner.Require("mean", "write the mean of the normal distribution")
		inner.Require("sd", "write the standard deviation of the normal distribution")
		var d Distribution
		d.Mean, _ = inner.Float("mean")
		readPositive(inner, "sd", &d.SD)
		syn.Columns[name] = d
	}
}
