package study

import "fedpvi/internal/document"

// Partitions divides a client's records into disjoint parts. The client fits each part without
// noise, clips how much each part's fit has changed, and adds noise to the sum of these changes
// (Heikkilä et al., "Differentially private partitioned variational inference", 2023, section 3).
// The privacy unit is then the record or the person.
type Partitions struct {
	Count int // K, the number of parts; 0 if the records stay together
	// Averaged is false if each part has its own factor, as a separate client would. If it is true,
	// the parts share the client's factor, and the client averages their changes.
	Averaged bool
}

const maxPartitions = 1<<16 - 1

func readPartitions(s *Study, t *document.Table) {
	p := &s.Inference.Partitions
	if readCount(t, "partitions", &p.Count, maxPartitions) {
		p.Count = max(1, p.Count) // readCount has already reported a count below 1, and 0 would mean that the records stay together
		if !s.Privacy.Unit.OfRecords() && s.Privacy.Unit != "" {
			t.Errorf("partitions", `have no meaning with privacy.unit = %q, because they hide one record of a client: remove the key`, s.Privacy.Unit)
		}
	}
	if v, ok := t.Choice("partitioned", "virtual", "averaged"); ok {
		p.Averaged = v == "averaged"
		if !t.Has("partitions") {
			t.Errorf("partitioned", "is used only with partitions, the number of parts into which a client deals its records: write partitions = 100")
		}
	}
}

// checkPartitionedSums refuses keys that would open the change of a single client. There is enough
// noise to hide a record only in the sum over all clients.
func checkPartitionedSums(s *Study, t *document.Table) {
	in := &s.Inference
	if in.Schedule != Synchronous {
		t.Errorf("schedule", `a %s round opens the change of one client at a time, not in a sum that hides it: write schedule = %q, or federation.opens = %q`, in.Schedule, Synchronous, OpenMessages)
	}
	if in.Partitions.Averaged && in.Factors != Tied {
		t.Errorf("factors", `averaged parts would remember the messages of their client, which must not be read with federation.opens = %q: write factors = %q`, OpenSums, Tied)
	}
}

// hidesChanges reports whether noise is added to changes of natural parameters, either of a whole
// client or of a part of its records.
func (s *Study) hidesChanges() bool {
	return s.Privacy.Unit == Client && s.Inference.Solver != Scoring || s.partitioned()
}

func (s *Study) partitioned() bool { return s.Inference.Partitions.Count > 0 }
