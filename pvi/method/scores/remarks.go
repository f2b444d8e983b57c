package scores

import (
	"fmt"
	"math"
	"strings"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// silent is the ratio of a posterior sd to the prior's sd above which the records say almost
// nothing about a parameter.
const silent = 0.9

// Remarks implements [method.Remarking].
func (w *walk) Remarks() *method.Remarks {
	clipped, sd, ok := w.state.Clipped()
	if !ok {
		return nil
	}
	low, high := math.Max(0, clipped-fit.Normal95*sd), math.Max(0, clipped+fit.Normal95*sd)
	out := []string{fmt.Sprintf("In the last round of scores between %.0f and %.0f of some %.0f records were clipped (95 %%).",
		low, high, w.state.Records)}
	arrived := w.state.Arrived()
	if !arrived {
		out = append(out, "The last sum of scores is not what this posterior lets expect: intervals may miss. More rounds, a model that fits the records better, or wider bounds may help.")
	}
	if w.method.Study.Model.Family == study.Poisson {
		out = append(out, "The intervals hold if the counts vary as a Poisson distribution does. Where counts vary more, 90 % intervals held 82 % in tests: family = \"negative-binomial\" fits such counts.")
	}
	if names := w.silent(); len(names) > 0 {
		out = append(out, "The records say next to nothing about: "+strings.Join(names, ", ")+".")
	}
	return &method.Remarks{Sentences: out, Arrived: arrived}
}

// silent returns the parameters whose sd is near the prior's.
func (w *walk) silent() (names []string) {
	_, cov := w.state.Posterior()
	for i, p := range w.method.Model.Parameters.All() {
		if math.Sqrt(cov.At(i, i)) > silent*p.Prior.SD {
			names = append(names, p.Name)
		}
	}
	return names
}
