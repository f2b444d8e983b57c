package words

import (
	"fmt"
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/gradientsum"
	"fedpvi/pvi/study"
)

// ReadersOfAny tells a data holder who could read a single answer of its client, as long as the
// roster is not known. It gives the smallest number of clients that could not do so, even together
// with the coordinator. Clients refuse rosters for which this number would be smaller.
func ReadersOfAny(p *pvi.Protocol) string {
	return readers(p, Plural(max(1, p.Colluders()), "client")+" (the number is fixed when the study begins, and is not smaller)")
}

// readers says who could read a single answer. hidden is the number of clients that could not do
// so, even together with the coordinator.
func readers(p *pvi.Protocol, hidden string) string {
	f := p.Study().Federation
	switch {
	case p.Study().Privacy.Unit == study.None:
		return "Nothing hides an answer: whoever reads it can learn about single records."
	case f.Opens == study.OpenMessages:
		return "Anybody may read an answer: the noise in it hides every " + string(p.Study().Privacy.Unit) + "."
	case f.Aggregation == study.Secure:
		return fmt.Sprintf("Nobody can read an answer, the coordinator included, unless the coordinator and more than %s work together: the clients add up their answers, and only sums over %d or more can be opened.",
			hidden, p.MinClients())
	}
	return CoordinatorReads
}

// CoordinatorReads is a sentence for studies in which the coordinator adds up the answers.
const CoordinatorReads = "The coordinator can open every single answer. It promises to open only sums, and nothing makes sure that it does: a study with federation.aggregation = \"secure\" does not need this promise."

func public(p *pvi.Protocol) []string {
	st := p.Study()
	out := []string{
		"The study file: columns, bounds, levels, priors, schedule and promise. None of it may be read off private data.",
		fmt.Sprintf("Who takes part: %s, of which at least %d must answer.", Plural(len(p.Roster()), "client"), p.MinClients()),
	}
	if st.Model.Absent() {
		out = append(out, "After the round, the tables of all clients' records together.")
	} else {
		out = append(out, fmt.Sprintf("After every round, the current posterior: %s of a Gaussian with %s covariance.", Plural(p.Family().Size(), "number"), p.Family().Name()))
	}
	if p.ReleasesSize() > 0 {
		out = append(out, "After every round, the answer of each client, so that every client can check its own and add them up.")
	}
	if st.Federation.Opens == study.OpenSums {
		out = append(out, "Of what clients send, only the sum over all that answered is to be opened.")
	}
	return out
}

func sent(p *pvi.Protocol) []string {
	st, in, size := p.Study(), p.Study().Inference, Plural(p.Family().Size(), "number")
	switch st.Privacy.Unit {
	case study.Client:
		if in.Solver == study.Scoring {
			votes := "for each regressor, about where its values lie"
			if st.Model.Formula != nil {
				votes = "its estimate in a fit of these records alone"
			}
			return []string{
				fmt.Sprintf("%s times: %s, scaled together to norm %s or less, with Gaussian noise that in a sum has sd %s. They are the gradient and the curvature of all its records at a published point, the products of the gradient's elements, and two numbers that say how much was clipped. In the first round it sends votes instead: for each parameter, how much information its records have about it, and %s.",
					capital(p.Releases()), Plural(p.MessageSize(), "number"), Number(p.Method().Noise().Clip), Number(p.Method().Noise().Multiplier), votes),
			}
		}
		return []string{
			fmt.Sprintf("%s times: the change of its factor, %s, found by %s, clipped to norm %s, with Gaussian noise that in a sum has %s times the clip as standard deviation.",
				capital(p.Releases()), size, solverInWords(in.Solver), Number(p.Method().Noise().Clip), Number(p.Method().Noise().Multiplier)),
		}
	case study.Record, study.Person:
		if in.Solver == study.Tabulate {
			return []string{fmt.Sprintf("Once: %s. What a record adds is clipped to norm %s or less, and Gaussian noise of sd %s is added to every number.",
				tablesInWords(st), Number(p.Method().Noise().Clip), Number(p.Method().Noise().SD))}
		}
		if in.Solver == study.Scoring {
			residuals := ""
			if st.Model.Family == study.Poisson {
				residuals = ", in the second half also squared residuals of the counts"
			}
			rounds := in.Rounds
			if st.Compare != nil {
				rounds--
			}
			return append(append(sentTables(st),
				fmt.Sprintf("In each of %d rounds, a sum over its records, up to %s: the gradients of their log likelihoods at a published point with counts of their lengths, in the first rounds also levels, values and squares of the columns%s, and in two rounds the curvatures. What a record adds is clipped to norm %s or less, and Gaussian noise of sd %s is added to every number.",
					rounds, Plural(p.MessageSize(), "number"), residuals, Number(p.Method().Noise().Clip), Number(p.Method().Noise().SD)),
			), sentScores(st)...)
		}
		if m, ok := p.Method().(method.Stepped); ok {
			return sentBySteps(p, m)
		}
		if in.Partitions.Count > 0 {
			return sentByParts(p)
		}
		return []string{
			fmt.Sprintf("Once: %s that summarise its records, each record's share clipped to norm %s, with Gaussian noise of %s times the clip as standard deviation. Whatever it sends later is computed from that.",
				Plural(p.Model().Linear().StatisticsSize(), "number"), Number(p.Method().Noise().Clip), Number(p.Method().Noise().Multiplier)),
		}
	}
	return []string{
		fmt.Sprintf("In %s: the change of its factor, %s, found by %s, as it is: NOT PRIVATE. Whoever sees it can learn about single records. For research on public or made-up data only.",
			everyRound(in.Rounds), size, solverInWords(in.Solver)),
	}
}

func sentTables(st *study.Study) []string {
	if st.Describe == nil {
		return nil
	}
	return []string{fmt.Sprintf("In the first round, together with the sum and under the same noise: %s. They use %.0f %% of the budget.", tablesInWords(st), 100*st.Describe.Share)}
}

func sentScores(st *study.Study) []string {
	c := st.Compare
	if c == nil {
		return nil
	}
	return []string{fmt.Sprintf("After these, once, with the same noise: how well the published posterior predicts records that the fit did not use, which are some %.0f in 100 and chosen by secret lot. Five numbers: the sum of their log predictive densities, each clipped to [%s, %s], a sum of their squares, and counts of all of them, of those below this range and of those above it. They use %.0f %% of the budget.",
		100*c.HeldOut, Number(c.Low), Number(c.High), 100*c.Share)}
}

func tablesInWords(st *study.Study) string {
	d := st.Describe
	var names []string
	for _, i := range d.Columns {
		names = append(names, st.Columns[i].Name)
	}
	by := ""
	if d.By >= 0 {
		by = ", for every level of " + st.Columns[d.By].Name + " separately"
	}
	return fmt.Sprintf("tables that describe %s%s: counts by level or by bin, counts of missing values where these are allowed, and, for numbers, sums of values and of squares", strings.Join(names, ", "), by)
}

// everyRound returns "each of n rounds" or "the one round".
func everyRound(rounds int) string {
	if rounds == 1 {
		return "the one round"
	}
	return fmt.Sprintf("each of %d rounds", rounds)
}

func capital(n int) string {
	if n == 1 {
		return "One"
	}
	return fmt.Sprint(n)
}

func stays(st *study.Study) []string {
	if st.Privacy.Unit == study.None {
		return []string{"The records themselves. The messages are computed from them without noise, and reveal information about them."}
	}
	private := "How well the model fits them, how many there are, and how long anything took."
	if st.Compare != nil {
		private = "How well the model fits them and how many there are, without noise, which of them are held out, and how long anything took."
	}
	out := []string{"The records, and every number computed from a single one.", private}
	if st.Privacy.Unit == study.Client && st.Inference.Factors == study.Exact {
		out = append(out, "Its factor without noise.")
	}
	if st.Inference.Partitions.Count > 0 {
		out = append(out, "Which part a record is in, and what each part would change.")
	}
	return out
}

func solverInWords(s study.Solver) string {
	switch s {
	case study.NaturalGradient:
		return "one natural-gradient step of variational inference"
	case study.SVI:
		return "stochastic variational inference"
	case study.Laplace:
		return "one Newton step (Laplace's approximation)"
	case study.Scoring:
		return "scoring: gradients and curvatures at published points"
	case study.DPSVI:
		return "private stochastic variational inference"
	case study.DPSEP:
		return "private stochastic expectation propagation"
	case study.ClippedAnalytical:
		return "the analytical update from noised statistics"
	}
	return "the exact conjugate update"
}

func sentBySteps(p *pvi.Protocol, m method.Stepped) []string {
	in, n, steps := p.Study().Inference, m.Noise(), m.Steps()
	var out []string
	if _, ok := m.(*gradientsum.Method); ok {
		out = append(out, fmt.Sprintf("%s times: the sum of its records' gradients at one θ, which everybody knows, %s, %s clipped to norm %s, with Gaussian noise that in a sum of clients has %s times the clip as standard deviation.",
			capital(steps.Total), Plural(m.Sampled().Dim(), "number"), one(&p.Study().Privacy), Number(n.Clip), Number(n.Multiplier)))
	} else {
		what := "gradients"
		if in.Solver == study.DPSEP {
			what = "sites"
		}
		out = append(out, fmt.Sprintf("In %s: the change of its factor, %s, computed from %s, each a sum of its records' %s, %s clipped to norm %s, with Gaussian noise of %s times the clip as standard deviation. Those sums could be read as well: the promise counts all %d of them.",
			everyRound(in.Rounds), Plural(p.Family().Size(), "number"), Plural(steps.Round, "noisy sum"), what, one(&p.Study().Privacy), Number(n.Clip), Number(n.Multiplier), steps.Total))
	}
	if s, ok := m.Start(); ok {
		out = append(out, fmt.Sprintf("Once, before anything else: %s that summarise its records, each record's share clipped to norm %s, with Gaussian noise of %s times the clip as standard deviation.",
			Plural(s.Dim(), "number"), Number(s.Clip()), Number(s.NoiseMultiplier())))
	}
	if !p.Sound() {
		out = append(out, "NOT PRIVATE AS CLAIMED, for research on public or made-up data only: the cost is computed for another way of drawing batches than the one in use.")
	}
	for _, c := range p.After() {
		out = append(out, fmt.Sprintf("After the last round, once: the sum of its records' gradients at the posterior's mean, with noise of %s times the same clip, and the sum of their curvatures, %s, every record's clipped to norm %s, with noise of %s times that.",
			Number(c.Gradient.NoiseMultiplier()), Plural(c.Curvature.Dim(), "number"), Number(c.Curvature.Clip()), Number(c.Curvature.NoiseMultiplier())))
	}
	return out
}

func sentByParts(p *pvi.Protocol) []string {
	in, n := p.Study().Inference, p.Method().Noise()
	noise := "with Gaussian noise of"
	if p.Study().Federation.Opens == study.OpenSums {
		noise = "with a share of Gaussian noise that in a sum over clients has"
	}
	return []string{
		fmt.Sprintf("In %s: the change of its factor, %s. It is the sum over %s of its records, each found by %s and clipped to norm %s, %s %s times the clip as standard deviation.",
			everyRound(in.Rounds), Plural(p.Family().Size(), "number"), Plural(in.Partitions.Count, "part"), solverInWords(in.Solver), Number(n.Clip), noise, Number(n.Multiplier)),
	}
}
