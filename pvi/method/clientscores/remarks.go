package clientscores

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

const (
	// Remarks warns of the clip if fewer clients than this share are not clipped.
	mostlyClipped = .5

	// Remarks lists coefficients whose posterior sd exceeds this share of the prior sd.
	unlearned = .7
)

func (w *walk) Remarks() *method.Remarks {
	if len(w.opened) == 0 {
		return nil
	}
	m, s := w.method, w.state
	var out []string
	if m.Study.Inference.Target == study.Pooled {
		out = append(out, "The posterior describes the pooled records of the study's clients.")
	} else {
		out = append(out, "The posterior describes the mean of the population from which the clients are drawn. Where clients differ it is wider than the posterior of the pooled records.")
		out = append(out, fmt.Sprintf("Between clients, coefficients differ by an sd of %.2g [%.2g, %.2g], where 1 is the sd of an estimate from one typical record.",
			s.Spread(.5), s.Spread(.025), s.Spread(.975)))
		if names := w.differing(); len(names) > 0 {
			out = append(out, "Clients differ in "+strings.Join(names, ", ")+", on the model's scale.")
		}
	}
	slope := s.Slope()
	text := fmt.Sprintf("About %.0f %% of the clients were not clipped in the last rounds (± %.0f %%).", 100*math.Min(slope.Mean, 1), 100*slope.SD)
	if slope.Mean < mostlyClipped {
		text += " The clip still cuts most clients: intervals may miss."
	}
	out = append(out, text)
	if names := w.unlearned(); len(names) > 0 {
		out = append(out, "For these the posterior says no more than the prior: "+strings.Join(names, ", ")+".")
	}
	if conflict := w.conflict(); conflict != "" {
		out = append(out, conflict)
	}
	return &method.Remarks{Sentences: out, Arrived: slope.Mean >= mostlyClipped}
}

// differing names each parameter that differs between clients, with its sd between them: its 95 %
// interval does not contain 0.
func (w *walk) differing() (all []string) {
	for i, p := range w.method.Model.Parameters.All() {
		unit := make([]float64, w.method.Model.Dim())
		unit[i] = 1
		along := w.method.units.Gradient(unit) // along times the parameters in public units is θ_i
		if low := w.state.SpreadAlong(along, .025); low > 0 {
			all = append(all, fmt.Sprintf("%s (sd %.2g [%.2g, %.2g])", p.Name, w.state.SpreadAlong(along, .5), low, w.state.SpreadAlong(along, .975)))
		}
	}
	return all
}

// unlearned names the parameters about which the records say hardly anything.
func (w *walk) unlearned() (names []string) {
	m := w.method
	prior := m.model.prior()
	covariance := m.units.Covariance(w.state.Posterior().Covariance())
	for i, p := range m.Model.Parameters.All() {
		if math.Sqrt(covariance.At(i, i)) > unlearned*prior.sd[i] {
			names = append(names, p.Name)
		}
	}
	return names
}

// conflict returns a sentence about parameters whose posterior contradicts their prior, or "". It
// checks no formulas, because their priors need not be normal.
func (w *walk) conflict() string {
	m := w.method
	if m.Model.General() {
		return ""
	}
	prior := m.model.prior()
	variances := mat.NewDiagDense(len(prior.sd), nil)
	for i, sd := range prior.sd {
		variances.SetDiag(i, sd*sd)
	}
	q := w.state.Posterior()
	return m.Model.Conflict(prior.mean, variances, m.units.From(q.Mean()), m.units.Covariance(q.Covariance()))
}
