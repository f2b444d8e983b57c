package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/session"
	"fedpvi/pvi/words"
)

// Trace writes, for every round, how far the mean of q was from the mean of the result. If the
// study publishes releases, it also writes the influence of each client.
func Trace(w io.Writer, t *session.Trace) error {
	fmt.Fprintf(w, "Mean of q after every round, from the mean of the result, in sds of %s\n\n", t.SDs)
	rows := [][]string{{"plan", "verdict", "root mean square", "largest", "in"}}
	for _, r := range t.Rounds {
		var squares float64
		at := 0
		for i, x := range r.Distance {
			squares += x * x
			if math.Abs(x) > math.Abs(r.Distance[at]) {
				at = i
			}
		}
		rows = append(rows, []string{
			fmt.Sprint(r.Plan), string(r.Verdict), number(math.Sqrt(squares / float64(len(r.Distance)))), number(r.Distance[at]), t.Names[at],
		})
	}
	if err := words.Table(w, "  ", 2, rows); err != nil {
		return err
	}
	clients := t.Influential()
	if clients == nil {
		_, err := io.WriteString(w, "\nThe study does not publish the answers of single clients, so that their influence is not known.\n")
		return err
	}
	fmt.Fprintf(w, "\nInfluence of the clients: a round without its answer\n\n")
	rows = [][]string{{"client", "answers", "largest norm / median of the others", "largest shift of q", "in plan", "rounds it blocked"}}
	for _, c := range clients {
		shift, plan := "–", "–"
		if c.Plan > 0 {
			shift, plan = number(c.Shift)+" sd", fmt.Sprint(c.Plan)
		}
		rows = append(rows, []string{string(c.Client), fmt.Sprint(c.Answers), number(c.Norm), shift, plan, fmt.Sprint(c.Blocked)})
	}
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+wrap(fmt.Sprintf("Shifts are in sds of %s in that round. They contain the privacy noise of the answer.", t.Rounds[0].SDs)))
	return err
}

// TraceFigure plots, for every plan, the distance between the means of q and of the result. If the
// trace has influences, a second plot shows how far away q would have been without one client's
// answer.
func TraceFigure(t *session.Trace) (Figure, error) {
	lines := make([]plotter.XYs, len(t.Names))
	shifts := map[string]plotter.XYs{}
	var clients []string
	for _, r := range t.Rounds {
		for j, x := range r.Distance {
			lines[j] = append(lines[j], plotter.XY{X: float64(r.Plan), Y: x})
		}
		for _, i := range r.Influences {
			if name := string(i.Client); i.Shift > 0 {
				if shifts[name] == nil {
					clients = append(clients, name)
				}
				shifts[name] = append(shifts[name], plotter.XY{X: float64(r.Plan), Y: i.Shift})
			}
		}
	}
	panels := []*sketch{distances("mean of q, from the mean of the result", "sds of "+t.SDs, t.Names, lines)}
	if clients != nil {
		slices.Sort(clients)
		p := newSketch("shift of q without the answer of a client", "", "sds of "+t.Rounds[0].SDs)
		for k, name := range clients {
			if len(clients) <= fewMeans {
				p.Legend.Add(name, p.dots(shifts[name], Palette[k], 2.5, groupShapes[k]))
			} else {
				p.dots(shifts[name], grey, 2.5, draw.CircleGlyph{})
			}
		}
		p.Y.Min = 0
		if len(clients) <= fewMeans {
			ReserveLegend(p.Plot, len(clients), rowHeight)
		}
		panels = append(panels, p)
	}
	for _, p := range panels {
		p.X.Min = 0
	}
	return stacked(panels, "plan")
}
