package report

import (
	"fmt"
	"io"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// Plan writes a readable description of a study before it runs: the model, the privacy cost, and
// how large the signal is compared with the noise. To find the widths of intervals, it may simulate
// federations. It calls played after each simulated round, and stops if this returns an error.
func Plan(w io.Writer, p *pvi.Protocol, played func(done, of int) error) error {
	st := p.Study()
	rows := [][]string{
		{"study", st.Name + ": " + st.Title},
		{"identity", "sha256 " + st.Digest.String()},
		{"model", words.Model(p.Model())},
	}
	if !st.Model.Absent() {
		rows = append(rows, []string{"posterior", fmt.Sprintf("Gaussian with %s covariance, %d natural parameters", p.Family().Name(), p.Family().Size())})
	}
	rows = append(rows, [][]string{
		{"clients", fmt.Sprintf("%d, of which at least %d must answer; up to %d may collude", len(p.Roster()), p.MinClients(), p.Colluders())},
		{"schedule", schedule(p)},
		{"", roundsNeeded(p)},
	}...)
	if c := st.Federation.Combine; c.Robust() {
		rows = append(rows, []string{"combination", fmt.Sprintf("%s: noise and differences between clients contribute up to %.2f times as much to the variance, and a client with few records counts as much as a client with many", c, c.Loss())})
	}
	if err := words.Table(w, "", 2, rows); err != nil {
		return err
	}
	if err := planScale(w, p); err != nil {
		return err
	}
	if st.Privacy.Unit == study.None {
		_, err := fmt.Fprintln(w, "\nNo privacy: unit = \"none\". Factors are sent as they are.")
		return err
	}
	if err := planPrivacy(w, p); err != nil {
		return err
	}
	return planForeseen(w, p, played)
}

func schedule(p *pvi.Protocol) string {
	in := p.Study().Inference
	how := fmt.Sprintf("%s factors, damping %s", in.Factors, damping(in.Damping))
	if in.Solver == study.Tabulate {
		how = "the opened sum gives the tables"
	}
	if in.Solver == study.Scoring {
		how = "opened sums give q, clients have no factors"
	}
	if sumsMoveQ(p) {
		how = "opened sums of gradients move q, clients have no factors"
	}
	return fmt.Sprintf("%s, %s, %s", in.Schedule, plural(in.Rounds, "round"), how)
}

func damping(d study.Damping) string {
	switch {
	case d.Harmonic && d.Alpha == 1:
		return "1/t"
	case d.Harmonic:
		return fmt.Sprintf("%g/(1 + %g(t−1))", d.Alpha, d.Alpha)
	default:
		return number(d.Alpha)
	}
}

func roundsNeeded(p *pvi.Protocol) string {
	st := p.Study()
	in := st.Inference
	stepwise := in.Solver == study.NaturalGradient || in.Solver == study.Laplace
	switch {
	case st.Model.Absent():
		return "one round releases all tables"
	case in.Solver == study.Scoring && st.Privacy.Unit == study.Client:
		return "every round evaluates the point to which the earlier rounds lead: ten rounds are near the best, sixteen help if the noise is large"
	case st.Compare != nil:
		return "every round but the last evaluates the point to which the earlier rounds lead: thirteen rounds are near the best; the last round scores held-out records"
	case in.Solver == study.Scoring:
		return "every round evaluates the point to which the earlier rounds lead: thirteen rounds are near the best; fewer lose accuracy, and more divide the budget"
	case in.SplitPrior:
		return "one round, in which each client uses its share of the prior: the result is a product of posteriors, which more rounds would improve if clients differ"
	case stepwise && in.Factors == study.Tied:
		return "one step a round: ten to forty rounds converge to a fit of the pooled records, on any partition; a damping of 0.5 or less keeps tied factors stable"
	case stepwise:
		return "one step a round: ten to forty rounds converge to a fit of the pooled records, on any partition"
	case in.Solver == study.SVI && in.Factors == study.Tied:
		return "tied factors and a solver that converges in every round: the result depends on the partition, but not with solver = \"natural-gradient\""
	case sumsMoveQ(p):
		return "private steps on all records, one a round: a hundred rounds are near the best on any partition, twenty lose a point of accuracy"
	case in.Solver == study.DPSEP:
		return "an average over noisy sums of sites: noise does not grow with the number of steps, and some twenty passes converge; more rounds help if clients differ"
	case in.Solver == study.DPSVI:
		return "private gradient steps: twenty to fifty rounds of some two hundred steps in all are near the best; more rounds help if clients differ"
	case in.Solver == study.SVI:
		return "a stochastic solver: rounds converge to a fit of the pooled records, up to the noise of the draws"
	case p.Family().Name() != "full":
		return "a diagonal posterior of correlated columns converges slowly: synchronous rounds need a damping well below 1"
	case st.Privacy.Unit == study.Client:
		return "conjugate model: without noise one round with damping 1 would be enough; more rounds average the noise and undo clipping"
	case st.Inference.Damping.Alpha == 1 && !st.Inference.Damping.Harmonic:
		return "conjugate model: one round is enough"
	default:
		return "conjugate model: one round with damping 1 would be enough"
	}
}

func planPrivacy(w io.Writer, p *pvi.Protocol) error {
	st := p.Study()
	costs, err := p.Costs(p.Releases())
	if err != nil {
		return err
	}
	one, err := p.Cost(costs[0].View, st.Privacy.Adjacency, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nPrivacy of %s, derived from %s\n\n%s\n", st.Privacy.Protects(), target(st.Privacy), words.Wrap(words.Headline(costs))+words.Wrap(words.Conditions(p)))
	if err := words.Table(w, "  ", 2, releaseRows(p, costs[0].Mu, one.Mu)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows := [][]string{{"against", "under", fmt.Sprintf("ε at δ = %g", st.Privacy.Delta)}}
	for _, c := range costs {
		rows = append(rows, []string{c.View.Who, string(c.Adjacency), number(c.Epsilon)})
	}
	if err := words.Table(w, "  ", 2, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", wrap(words.Meaning(st.Privacy.Protects(), costs)))
	atTwo, err := words.AtTwoClients(p)
	if err != nil {
		return err
	}
	if atTwo != "" {
		fmt.Fprintf(w, "\n%s", wrap(atTwo))
	}
	fmt.Fprintf(w, "\n%s", words.Forecast(p))
	if p.Sound() {
		return nil
	}
	promise, err := sim.NewPromise(p, p.Releases())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s", unsound(promise))
	return err
}

// releaseRows describes the clients' releases and their noise. all is the μ of all releases
// together, and one is that of a single release.
func releaseRows(p *pvi.Protocol, all, one float64) [][]string {
	n, f := p.Method().Noise(), p.Study().Federation
	rows := [][]string{
		{"releases of a client", fmt.Sprint(p.Releases()) + afterScale(p)},
	}
	rows = append(rows, descentRows(p)...)
	rows = append(rows, partsRows(p)...)
	if d, ok := p.Method().(method.Stepped); !ok || d.Steps().Rate == 1 && !starts(d) {
		rows = append(rows, []string{"μ of all, of one", number(all) + ", " + number(one)})
	}
	rows = append(rows,
		[]string{"noise multiplier σ", number(n.Multiplier)},
		[]string{"clip C", fmt.Sprintf("%s (L2 norm of %s)", number(n.Clip), clipped(p))})
	rows = append(rows, personRows(p)...)
	if f.Opens == study.OpenSums {
		rows = append(rows,
			[]string{"opened", fmt.Sprintf("sums of at least %d answers", p.MinClients())},
			[]string{"noise shares counted on", fmt.Sprintf("%d = %d answers − %d colluders", p.MinClients()-p.Colluders(), p.MinClients(), p.Colluders())})
		if s := newPlannedSecure(p); s != nil {
			rows = append(rows, s.rows(len(p.Roster()))...)
		} else {
			rows = append(rows, []string{"added up", "by the coordinator, who can open every answer"})
		}
	}
	if f := newPlannedFetched(p); f != nil {
		rows = append(rows, f.rows(len(p.Roster()))...)
	}
	if t := newPlannedTables(p); t != nil {
		rows = append(rows, t.rows()...)
	}
	if s := newPlannedScores(p); s != nil {
		rows = append(rows, s.rows()...)
	}
	rows = append(rows, []string{"noise of one client", fmt.Sprintf("sd %s = %d steps of 2^%d", number(n.SD), n.Sigma, -n.Lattice.Exponent())})
	return append(rows, intervalRows(p)...)
}

func target(p study.Privacy) string {
	if p.Epsilon > 0 {
		return fmt.Sprintf("ε = %g at δ = %g under %s", p.Epsilon, p.Delta, p.Adjacency)
	}
	return fmt.Sprintf("noise multiplier %g, with δ = %g under %s", p.NoiseMultiplier, p.Delta, p.Adjacency)
}

func clipped(p *pvi.Protocol) string {
	st := p.Study()
	scores, around := st.Inference.Solver == study.Scoring, ""
	if st.Privacy.Centred {
		around = ", around the current mean"
	}
	switch {
	case stepsOf(p) != nil:
		return clippedGradient(p)
	case st.Inference.Partitions.Count > 0:
		return "the contribution of a part of the records to a client's change of natural parameters" + around
	case st.Privacy.Unit.OfRecords() && scores:
		return "the contribution of a record in the most expensive round: score, counts, values of columns, curvature"
	case st.Privacy.Unit.OfRecords():
		return "a record's statistics"
	case scores:
		return "a client's gradient and curvature in the last round; earlier ones are smaller"
	}
	return "a client's change of natural parameters" + around
}

func personRows(p *pvi.Protocol) [][]string {
	privacy := p.Study().Privacy
	if privacy.Unit != study.Person {
		return nil
	}
	cost := fmt.Sprintf("a person moves a sum by up to %d·C, so that the noise is %d times that for single rows", privacy.RowsPerPerson, privacy.RowsPerPerson)
	switch {
	case stepsOf(p) != nil:
		cost = "the vectors of a person's rows are added up, and their sum is clipped: a person costs as much as a single row with this clip"
	case p.Study().Inference.Partitions.Count > 0:
		cost = "all rows of a person are in one part: a person costs as much as a single row"
	}
	rows := [][]string{
		{"rows of a person", fmt.Sprintf("at most %d at a client, chosen by lot", privacy.RowsPerPerson)},
		{"", cost},
	}
	if p.Study().Inference.Partitions.Count > 0 || privacy.RowsPerPerson == 1 {
		return rows
	}
	return append(rows, clipRows(p)...)
}

// clipRows compares two ways to clip a person's k rows to the norm C under the same ε: each row's
// vector, or the sum of all k vectors. The first way needs k times the noise. In return, the person
// moves a sum by kC if the k vectors are equal, and by √k·C if they are orthogonal.
func clipRows(p *pvi.Protocol) [][]string {
	n, k := p.Method().Noise(), float64(p.Study().Privacy.RowsPerPerson)
	perPerson, solver := n.SD, "each person"
	if stepsOf(p) == nil {
		perPerson, solver = n.SD/k, "each row"
	}
	perRow := k * perPerson
	share := func(moves, noise float64) string { return number(moves * n.Clip / noise) }
	return [][]string{
		{"clip of each row", fmt.Sprintf("noise of sd %s; %.0f equal rows of length C move a sum by %s of it, orthogonal rows by %s", number(perRow), k, share(k, perRow), share(math.Sqrt(k), perRow))},
		{"clip of a person", fmt.Sprintf("noise of sd %s; both move a sum by %s of it, because the sum of the rows is shortened to C, which is a bias", number(perPerson), share(1, perPerson))},
		{"", "this solver clips " + solver},
	}
}

func starts(m method.Stepped) bool {
	_, ok := m.Start()
	return ok
}
