package chaos

import (
	"bytes"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// A sumModel checks secure sums. It computes the public steps of the protocol itself, and compares
// the clients' messages with them.
type sumModel struct {
	federation *sums.Federation // nil until the roster is known
	progress   *sums.Progress
	words      map[word]transport.Item
}

// A word identifies a client's message that is not an answer.
type word struct {
	client string
	domain identity.Domain
	ask    uint64
	roster [32]byte // version of the roster; clients exchange new keys under each version
}

// isWord reports whether messages in a domain are keys, confirmations or shares.
func (m *model) isWord(d identity.Domain) bool {
	return d == signed.Keys || d == signed.Confirm || d == signed.Share
}

// word checks a message of secure sums that a client is about to send: its keys, a confirmation or
// a share. The client must not have sent a different one for the same plan and roster. It may send
// a share only after the certificate.
func (m *model) word(l *life, h signed.Header, item transport.Item) {
	m.w.tell("%s sends %s for plan %d", l.p.name, h.Domain, h.Round)
	key := word{l.p.name, h.Domain, h.Round, h.Roster}
	if before, again := m.sums.words[key]; again && (!bytes.Equal(before.Envelope, item.Envelope) || !bytes.Equal(before.Body, item.Body)) {
		m.w.fail("%s says two things for plan %d: %s", l.p.name, h.Round, h.Domain)
	}
	m.sums.words[key] = item
	certified := slices.ContainsFunc(m.entries, func(e transcript.Entry) bool { return e.Kind == transcript.Certificate && e.Ask == h.Round })
	if h.Domain == signed.Share && !certified {
		m.w.fail("%s shares for plan %d without a certificate", l.p.name, h.Round)
	}
}

// followSums checks a step of secure sums by computing it independently.
func (m *model) followSums(e transcript.Entry, body []byte) {
	secure := m.w.document.Federation.Aggregation == study.Secure
	switch {
	case !secure:
		if e.Kind.Step() {
			m.w.fail("entry %d is a %s in a study without secure sums", e.Number, e.Kind)
		}
	case e.Kind == transcript.Roster:
		f, err := sums.New(m.chain, m.w.fewest, m.w.protocol.VectorSize())
		if err != nil {
			m.w.fail("the rules of secure sums: %v", err)
			return
		}
		m.sums.federation, m.sums.progress = f, sums.NewProgress(f)
	case e.Ask > 0:
		if err := m.sums.progress.Follow(e, body); err != nil {
			m.w.fail("entry %d: %v", e.Number, err)
		}
	}
}

// settleSums checks the outcome of a plan with secure sums. Unless the outcome is void, it must
// have the sum that the plan's opening has revealed, and must list the clients in this sum.
func (m *model) settleSums(ask uint64, o *pvi.Outcome) {
	names, sum, opened := m.sums.progress.Sum()
	var clients []pvi.ClientID
	for _, name := range names {
		clients = append(clients, pvi.ClientID(name))
		if _, dealt := m.answers[answer{string(name), ask}]; !dealt {
			m.w.fail("the sum of plan %d has an answer that %s never gave", ask, name)
		}
	}
	m.inCut(ask)
	if o.Verdict == pvi.Void {
		return
	}
	if !opened || !slices.Equal(clients, o.Participants) || !slices.Equal(sum[:len(o.Sum)], o.Sum) {
		m.w.fail("the outcome of plan %d is not the sum that was opened", ask)
	}
	if o.Verdict == pvi.Accepted {
		m.lambda.add(o.Sum)
	}
}

// inCut checks that the cut of a plan (the list of the deals that are added up) has every answer
// that the coordinator has accepted. If there is no cut, the coordinator owes no receipts, so inCut
// forgets the accepted answers of the plan.
func (m *model) inCut(ask uint64) {
	cut := map[string]bool{}
	for _, d := range m.sums.progress.Cut() {
		cut[string(m.sums.federation.Name(d.Place))] = true
	}
	for key := range m.taken {
		if key.ask == ask && len(cut) == 0 {
			delete(m.taken, key)
		} else if key.ask == ask && !cut[key.client] {
			m.w.fail("the answer of %s to plan %d was taken and is not in the cut", key.client, ask)
		}
	}
}

// spoil makes the body of a step of secure sums invalid: a cut gets too few deals, a certificate
// contains the same confirmation twice, or a share in an opening is changed.
func (m *model) spoil(kind transcript.Kind, body []byte) []byte {
	other := bytes.Clone(body)
	switch kind {
	case transcript.Cut:
		const deal = 2 + 32
		return other[:1+(m.w.fewest-1)*deal]
	case transcript.Certificate:
		const confirmation = 2 + 64
		copy(other[1+confirmation:1+2*confirmation], other[1:1+confirmation])
	default:
		other[len(other)-1] ^= 1
	}
	return other
}
