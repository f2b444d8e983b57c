package study

import "fedpvi/internal/document"

// NoModel is the family of a study without a model, which only releases the tables of [Describe].
// It cannot be chosen in a study document.
const NoModel Family = "none"

// Tabulate is the solver of a study without a model. It cannot be chosen in a study document.
const Tabulate Solver = "tables"

// Absent reports whether the study has no model.
func (m *Model) Absent() bool { return m.Family == NoModel }

// readNoModel reads a study without a model. It sets the fields of [Inference] and refuses keys
// that need a model.
func readNoModel(s *Study, root, inference, privacy *document.Table) {
	for name, t := range map[string]*document.Table{"inference": inference, "prior": root.Table("prior"), "standardise": root.Table("standardise")} {
		if root.Has(name) {
			root.Errorf(name, "has no meaning in a study without [model]: remove it, or write the model")
		}
		ignore(t)
	}
	refuseAll(privacy, []string{"clip", "coordinates"}, "has no meaning in a study without [model]: the clip of the tables follows from their columns")
	s.Inference = Inference{Schedule: Synchronous, Rounds: 1, Solver: Tabulate, Factors: Tied, Damping: Damping{Alpha: 1}, Q: "diagonal"}
}
