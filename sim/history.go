package sim

// A History keeps some points of a run for plots. As the run grows, it drops points, so that its
// size stays bounded.
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

// historySize is the maximum number of points in a history. A history with this number of points
// drops every second point.
const historySize = 800

// Wants reports whether the history keeps a point for the given outcome. Outcomes are counted from
// 1. Number 0 is the prior.
func (h *History) Wants(outcome int) bool { return outcome%max(1, h.stride) == 0 }

// Add appends a point. The caller must have checked with Wants that the history keeps the point.
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
