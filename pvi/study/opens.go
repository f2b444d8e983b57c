package study

import "fedpvi/internal/document"

// readOpens reads whether anyone may read every message, or only sums over clients. If only sums,
// it refuses keys that do not fit.
func readOpens(s *Study, federation, inference *document.Table) {
	f := &s.Federation
	f.Opens = OpenMessages
	if s.Privacy.Unit == Client {
		f.Opens = OpenSums
	}
	given := readChoice(federation, "opens", &f.Opens, OpenMessages, OpenSums)
	if s.Version > 1 && f.Opens == OpenSums && !federation.Has("colluders") {
		f.Colluders = OneOther
	}
	readAggregation(f, federation)
	if !given {
		return
	}
	switch {
	case s.Privacy.Unit == None:
		federation.Errorf("opens", `has no meaning with privacy.unit = "none": nothing is hidden`)
	case s.Privacy.Unit == Client && f.Opens == OpenMessages:
		federation.Errorf("opens", `a client is hidden in sums only: with privacy.unit = "client" write opens = %q, or leave it out`, OpenSums)
	case s.partitioned() && f.Opens == OpenSums:
		checkPartitionedSums(s, inference)
	case s.Privacy.Unit.OfRecords() && f.Opens == OpenSums:
		readSummed(s, federation, inference)
	}
}

// readSummed sets the options that leave no choice if each round opens one sum of gradients over
// the clients.
func readSummed(s *Study, federation, t *document.Table) {
	in := &s.Inference
	if in.Solver == Scoring || in.Solver == Tabulate {
		return
	}
	if in.Solver != DPSVI {
		federation.Errorf("opens", `%q hides records in a sum of gradients: write inference.solver = %q or %q, or opens = %q`, OpenSums, Scoring, DPSVI, OpenMessages)
		return
	}
	if in.Schedule != Synchronous {
		t.Errorf("schedule", `a %s round opens the gradients of one client at a time, not in a sum that hides them: write schedule = %q, or federation.opens = %q`, in.Schedule, Synchronous, OpenMessages)
	}
	if in.Descent.Steps > 1 {
		t.Errorf("steps", `with federation.opens = %q a round is one sum of gradients. Several steps of one client, with its share of the noise only, would reveal more than their sum: remove steps, and write one round for each sum`, OpenSums)
	}
	in.Descent.Steps = 1
	refuseAll(t, []string{"factors", "damping", "damping_schedule", "local_prior"}, `has no meaning with federation.opens = %q: gradients are summed, and clients have no factors`, OpenSums)
	in.Damping = Damping{Alpha: 1}
}

// readAggregation reads the key federation.aggregation, which says how the clients' messages are
// added up. Rules that depend on the roster are checked later.
func readAggregation(f *Federation, t *document.Table) {
	if f.Opens != OpenSums {
		refuse(t, "aggregation", `has no meaning where every message may be opened: write opens = %q as well, or remove aggregation`, OpenSums)
		return
	}
	f.Aggregation = ByCoordinator
	readChoice(t, "aggregation", &f.Aggregation, Secure, ByCoordinator)
	if f.Aggregation == Secure && f.MinClients > 0 && f.Colluders > f.MinClients-2 {
		t.Errorf("colluders", `with aggregation = %q the smallest sum needs two clients that do not collude: write min_clients = %d or more, or colluders = %d or less`,
			Secure, f.Colluders+2, max(0, f.MinClients-2))
	}
}
