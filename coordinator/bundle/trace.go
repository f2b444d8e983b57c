package bundle

import (
	"errors"
	"fmt"
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/page"
	"fedpvi/pvi/session"
)

var errNoPosterior = errors.New("the study in the bundle has no posterior: it is not over, or was aborted")

// Trace verifies a bundle like [Verify], and returns the posterior and a description of each round.
// It fails if the study has not ended with a posterior.
func Trace(r io.Reader) (*session.Posterior, *session.Trace, error) {
	v := newVerifier(r)
	v.tracing = true
	p, err := v.posterior()
	if err != nil {
		return nil, nil, err
	}
	return p, p.Trace(v.rounds), nil
}

// posterior verifies the bundle and returns the posterior.
func (v *verifier) posterior() (*session.Posterior, error) {
	if err := v.verify(); err != nil {
		return nil, err
	}
	if v.report.Result == nil {
		return nil, errNoPosterior
	}
	return session.Describe(v.document, v.report.Result)
}

// Page verifies a bundle like [Verify], and returns the data of the study's report page. It fails
// if the study has not ended with a posterior.
func Page(r io.Reader) (*page.Report, error) {
	v := newVerifier(r)
	p, err := v.posterior()
	if err != nil {
		return nil, err
	}
	report, err := page.New(v.document, as[pvi.ClientID](v.report.Clients), p)
	if err != nil {
		return nil, err
	}
	report.Checked = v.report.Sentences()
	return report, nil
}

// Sentences returns sentences that describe the checks the bundle has passed.
func (r *Report) Sentences() []string {
	all := []string{
		fmt.Sprintf("The signed transcript of %d entries is complete, and chained by hashes. Its coordinator has the fingerprint %v.", r.Entries, r.Coordinator),
		fmt.Sprintf("All %d plans and the result were computed again from the published sums.", r.Questions),
		fmt.Sprintf("Every client consented, and signed each of its answers (%d in all).", r.Answers),
	}
	if r.Signed > 0 {
		all = append(all, fmt.Sprintf("The releases of %d answers are published with the signatures of their clients, and add up to the sums.", r.Signed))
	}
	return all
}
