package coordinator

import (
	"fedpvi/pvi"
	"fedpvi/pvi/session"
)

// The log reports an answer as unlike the others if its norm exceeds strange times the median norm
// of the others. The norm of an honest answer grows at most in proportion to the client's number of
// records.
const strange = 10

// logRound logs the verdict on a round. If the coordinator can read the clients' messages, it also
// logs the influence of each answer.
func (s *Study) logRound(ask uint64, r session.Round) {
	if r.Verdict == pvi.Accepted {
		s.log.Info("verdict", "ask", ask, "verdict", string(r.Verdict))
	} else {
		s.log.Warn("verdict: the posterior did not move, but the answers stay charged", "ask", ask, "verdict", string(r.Verdict), "accepted_without", r.Blocking())
	}
	s.events.Verdict(string(r.Verdict))
	s.auditVerdict(ask, r.Verdict)
	for _, i := range r.Influences {
		s.events.Influence(string(i.Client), i.Norm)
		if i.Norm > strange || i.Blocks {
			s.log.Warn("an answer is unlike the others", "ask", ask, "client", i.Client, "norm_to_median", i.Norm, "shift_in_sds", i.Shift, "blocks", i.Blocks)
		} else {
			s.log.Info("influence of an answer", "ask", ask, "client", i.Client, "norm_to_median", i.Norm, "shift_in_sds", i.Shift)
		}
	}
}
