package sim

// A History stores points of a run for plots. To stay small, it drops points as the run gets
// longer.
type History struct {
	Points []Point
	stride int
}

// Point describes a run after an outcome.
type Point struct {
	Outcome int
	Natural []float64
	KL      float64
	Epsilon *float64 // proven cost so far; nil if the study has no privacy
}

// When a history has historySize points, it drops every second one.
const historySize = 800

// Wants reports whether the history needs a point for the given outcome. Outcomes are counted from
// 1, and 0 stands for the prior.
func (h *History) Wants(outcome int) bool { return outcome%max(1, h.stride) == 0 }

// Add appends a point, which the history must want.
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
