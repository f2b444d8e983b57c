package sim

// A History keeps points of a run. It is thinned so that its size does not grow with the number of
// outcomes.
type History struct {
	Points []Point
	stride int
}

// Point is the state of a run after an outcome.
type Point struct {
	Outcome int
	Natural []float64
	KL      float64
	Epsilon *float64 // nil if the study has no privacy
}

// historySize is the number of points at which the history drops every second point.
const historySize = 800

// Wants reports whether the history keeps a point for the given outcome, counted
// from 0 for the prior.
func (h *History) Wants(outcome int) bool { return outcome%max(1, h.stride) == 0 }

// Add appends a point that the history wants.
func (h *History) Add(p Point) {
	h.stride = max(1, h.stride)
	h.Points = append(h.Points, p)
	if len(h.Points) < historySize {
		return
	}
	h.stride *= 2
	kept := h.Points[:0]
	for _, old := range h.Points {
		if h.Wants(old.Outcome) {
			kept = append(kept, old)
		}
	}
	h.Points = kept
}
