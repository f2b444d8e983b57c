package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// public says what everybody knows.
func public(p *pvi.Protocol) []string {
	st := p.Study()
	out := []string{
		"The study file: columns, bounds, levels, priors, schedule and promise. None of it may be read off private data.",
		fmt.Sprintf("Who takes part: %s, of which at least %d must answer.", plural(len(p.Roster()), "client"), p.MinClients()),
		fmt.Sprintf("After every round the present posterior: %s of a Gaussian with %s covariance.", plural(p.Family().Size(), "number"), p.Family().Name()),
	}
	if st.Federation.Opens == study.OpenSums {
		out = append(out, "Of what clients send, only the sum over all that answered is to be opened.")
	}
	return out
}

// sent says what leaves a client.
func sent(p *pvi.Protocol) []string {
	st := p.Study()
	in := st.Inference
	size := plural(p.Family().Size(), "number")
	switch st.Privacy.Unit {
	case study.Client:
		return []string{
			fmt.Sprintf("%s times: the change of its factor, %s, found by %s, clipped to norm %s, with Gaussian noise that in a sum has %s times the clip as standard deviation.",
				capital(fmt.Sprint(p.Releases())), size, solverInWords(in.Solver), number(p.Mechanism().Clip()), number(p.Mechanism().NoiseMultiplier())),
			"What that gives away about the client's whole data set: sim plan says, against whom.",
		}
	case study.Record:
		if p.Descent() != nil {
			return sentByDescent(p)
		}
		if in.Partitions.Count > 0 {
			return sentByParts(p)
		}
		return []string{
			fmt.Sprintf("Once: %s that sum up its records, each record's share clipped to norm %s, with Gaussian noise of %s times the clip as standard deviation. Whatever it sends later is computed from that.",
				plural(p.Model().Linear().StatisticsSize(), "number"), number(p.Mechanism().Clip()), number(p.Mechanism().NoiseMultiplier())),
			"What that gives away about one record: sim plan says, against whom.",
		}
	}
	return []string{
		fmt.Sprintf("In %s: the change of its factor, %s, found by %s, as it is: NOT PRIVATE. Whoever sees it can learn about single records. For research on public or made-up data only.",
			everyRound(in.Rounds), size, solverInWords(in.Solver)),
	}
}

// everyRound says when something is sent that is sent in every round.
func everyRound(rounds int) string {
	if rounds == 1 {
		return "the one round"
	}
	return fmt.Sprintf("each of %d rounds", rounds)
}

func capital(number string) string {
	if number == "1" {
		return "One"
	}
	return number
}

// stays says what does not leave a client.
func stays(st *study.Study) []string {
	if st.Privacy.Unit == study.None {
		return []string{"The records themselves. What is sent is computed from them without noise, and tells of them."}
	}
	out := []string{
		"The records, and every number computed from a single one.",
		"How well the model fits them, how many there are, and how long anything took.",
	}
	if st.Privacy.Unit == study.Client && st.Inference.Factors == study.Exact {
		out = append(out, "Its factor without noise.")
	}
	if st.Inference.Partitions.Count > 0 {
		out = append(out, "Which part a record is in, and what each part would change.")
	}
	return out
}

// solverInWords says how a client finds its factor.
func solverInWords(s study.Solver) string {
	switch s {
	case study.NaturalGradient:
		return "one natural-gradient step of variational inference"
	case study.SVI:
		return "stochastic variational inference"
	case study.Laplace:
		return "one Newton step (Laplace's approximation)"
	case study.DPSVI:
		return "private stochastic variational inference"
	case study.DPSEP:
		return "private stochastic expectation propagation"
	case study.ClippedAnalytical:
		return "the analytical update from noised statistics"
	}
	return "the exact conjugate update"
}
