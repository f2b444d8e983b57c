package bundle

import (
	"errors"
	"io"

	"fedpvi/pvi/session"
)

// Trace verifies a bundle like [Verify], and returns the posterior of the study with its trace. It
// returns an error if the study has not ended with a posterior.
func Trace(r io.Reader) (*session.Posterior, *session.Trace, error) {
	v := newVerifier(r)
	v.tracing = true
	if err := v.verify(); err != nil {
		return nil, nil, err
	}
	if v.report.Result == nil {
		return nil, nil, errors.New("the study in the bundle has no posterior: it is not over, or was aborted")
	}
	p, err := session.Describe(v.document, v.report.Result)
	if err != nil {
		return nil, nil, err
	}
	return p, p.Trace(v.rounds), nil
}
