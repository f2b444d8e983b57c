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
	// Remarks warns that too much was clipped if less than this share of the clients were not clipped.
	mostlyClipped = .5

	// Remarks lists the coefficients whose posterior standard deviation is more than this share of the
	// prior standard deviation.
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

// differing lists the parameters that differ between clients, with their standard deviations
// between clients. A parameter is in the list if the 95 % interval of that standard deviation does
// not contain 0.
func (w *walk) differing() (all []string) {
	for i, p := range w.method.Model.Parameters.All() {
		unit := make([]float64, w.method.Model.Dim())
		unit[i] = 1
		along := w.method.units.Gradient(unit) // along · (parameters in public units) = θ_i
		if low := w.state.SpreadAlong(along, .025); low > 0 {
			all = append(all, fmt.Sprintf("%s (sd %.2g [%.2g, %.2g])", p.Name, w.state.SpreadAlong(along, .5), low, w.state.SpreadAlong(along, .975)))
		}
	}
	return all
}

// unlearned lists the parameters about which the records say hardly anything.
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

// conflict returns a sentence about parameters whose posterior contradicts the prior, or "" if
// there are none. It does not check formulas, because their priors need not be normal.
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
