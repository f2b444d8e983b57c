package transcript

import (
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
)

// In a study with commitments, each client signs the hash of its release before it encrypts the
// release. The signature is in the envelope of its answer. The body of an outcome also has the
// envelopes of the answers in the sum, so that everybody can compare the published releases with
// the signed hashes. If the coordinator changes a release, this is detected.

// An Answered is the body of an outcome in a study with commitments. It has the outcome itself and
// the signed envelopes of the answers in it.
type Answered struct {
	Outcome []byte // message that the study's phase defines
	// envelopes of the answers in the sum, in client order; at most roster.MaxParties
	Envelopes [][]byte
}

// Bytes returns the encoding of a.
func (a Answered) Bytes() []byte {
	size := 1 + 4 + len(a.Outcome) + 4
	for _, e := range a.Envelopes {
		size += 4 + len(e)
	}
	b := wire.AppendBytes(append(make([]byte, 0, size), version), a.Outcome)
	b = wire.AppendLength(b, len(a.Envelopes))
	for _, e := range a.Envelopes {
		b = wire.AppendBytes(b, e)
	}
	return b
}

// AnswersSize returns how many bytes answers can add to the body of an outcome, at most.
func AnswersSize(answers int) int { return 1 + 4 + 4 + answers*(4+maxRelease) }

// maxRelease is the maximum size of an answer's envelope in bytes.
const maxRelease = signed.Overhead + releaseSize

// ParseAnswered decodes the output of Bytes. The result shares memory with b.
func ParseAnswered(b []byte) (Answered, error) {
	r := versioned(b)
	a := Answered{Outcome: r.Bytes(MaxBody)}
	for n := r.Length(roster.MaxParties); n > 0 && !r.Failed(); n-- {
		a.Envelopes = append(a.Envelopes, r.Bytes(maxRelease))
	}
	if !r.Done() {
		return Answered{}, ErrForm
	}
	return a, nil
}

// Commitments returns the hashes of the releases that the clients have signed in their answers.
func Commitments(answers []Release) []Hash {
	all := make([]Hash, len(answers))
	for i, r := range answers {
		all[i] = r.Commitment
	}
	return all
}

// VerifyAnswers verifies the envelopes of the answers in a plan's outcome. There must be one from
// each of the given clients, in the same order, for the plan with this number and model hash.
// commitments has the hashes of the releases that were published with the outcome. If there are
// none, it is nil. The error names the first client whose answer is wrong.
func (c Chain) VerifyAnswers(plan uint64, model Hash, clients []identity.Name, commitments []Hash, envelopes [][]byte) ([]Release, error) {
	if len(envelopes) != len(clients) {
		return nil, fmt.Errorf("the outcome of plan %d counts %d answers and has the signatures of %d", plan, len(clients), len(envelopes))
	}
	all := make([]Release, len(clients))
	for i, name := range clients {
		member, ok := c.members.Named(name)
		if !ok || member.Role != identity.Client {
			return nil, fmt.Errorf("plan %d: %s is no client of the study", plan, name)
		}
		r, err := c.VerifyRelease(envelopes[i], member.Key, plan, model)
		if err != nil {
			return nil, fmt.Errorf("the answer of %s in the outcome of plan %d: %w", name, plan, err)
		}
		if commitments != nil && r.Commitment != commitments[i] {
			return nil, fmt.Errorf("the release of %s in the outcome of plan %d is not the one that this client has signed: the coordinator has changed it", name, plan)
		}
		all[i] = r
	}
	return all, nil
}
