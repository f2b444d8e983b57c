package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// In a study with secure aggregation, a client first deals its answer out to all clients. It then
// confirms the list of deals to be added up, and sends its share of the sum (see package sums).
// Each message is written to disk before it is sent, and can be sent again until the plan's next
// step.
//
// newFederation sets up the rules of the secure sums from the roster and the study.
func (a *participant) newFederation(chain transcript.Chain) (*sums.Federation, error) {
	members, err := phase.NewRoster(a.member.Study, clientsOf(chain.Members()))
	if err != nil {
		return nil, err
	}
	return sums.New(chain, members.Fewest, a.site.VectorSize())
}

// beginSums creates the state of the secure sums if the study uses them.
func (a *participant) beginSums(chain transcript.Chain) error {
	if a.member.Study.Federation.Aggregation != study.Secure {
		return nil
	}
	f, err := a.newFederation(chain)
	if err != nil {
		return err
	}
	a.sums, err = sums.NewClient(f, a.member.Name)
	return err
}

// restoreSums loads the saved state of the secure sums if the study uses them and is running.
// Without this state, the client would encrypt its answers for the coordinator.
func (a *participant) restoreSums() error {
	if a.member.Study.Federation.Aggregation != study.Secure || a.at.Ended != nil {
		return nil
	}
	state, err := a.client.part(a.member.Hash, sumsPart)
	if err != nil {
		return err
	}
	f, err := a.newFederation(a.chain)
	if err != nil {
		return err
	}
	if a.sums, err = sums.RestoreClient(f, a.member.Name, state); err != nil {
		return a.client.damaged("the state of the secure sums: " + err.Error())
	}
	return nil
}

// drawKeys returns the message with this client's keys for the other clients. It also puts the new
// state of the sums into change.
func (a *participant) drawKeys(change *ledger.Change) ([]byte, error) {
	envelope, body, err := a.sums.Keys(a.member.keys.identity)
	if err != nil {
		return nil, err
	}
	if change.Parts[sumsPart], err = a.sums.MarshalBinary(); err != nil {
		return nil, err
	}
	return json.Marshal(saved{envelope, body})
}

// mayDeal reports whether an answer to the open plan can still go into the sum. With secure
// aggregation, it can until the cut is published, which is the list of deals to be added up.
func (a *participant) mayDeal() bool { return a.sums == nil || a.sums.Step() == sums.Dealing }

// adds reports whether the client still has to do something for the open plan's sum.
func (a *participant) adds() bool {
	return a.sums != nil && (a.sums.Wants() || a.sums.CanConfirm() || a.sums.CanShare())
}

// followSums applies a plan, an outcome, or a step in between to the secure sums.
func (a *participant) followSums(e transcript.Entry, body []byte, next *position) error {
	if a.sums == nil {
		if e.Kind.Step() {
			return transcript.ErrKind
		}
		return nil
	}
	if e.Kind.Outcome() {
		if err := a.checkSum(session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: body}); err != nil {
			return err
		}
	}
	if err := a.sums.Follow(e, body); err != nil {
		return err
	}
	if e.Kind == transcript.Cut && a.sums.LeftOut() {
		a.client.log.Warn("an answer was left out of the sum; its charge stays", "question", e.Ask)
		next.miss(e.Ask, "the coordinator closed the plan without it")
	}
	return nil
}

// checkSum refuses an outcome whose sum is not the one that this client has computed from the
// clients' shares. A void outcome has no sum and passes.
func (a *participant) checkSum(e session.Entry) error {
	stated, err := a.site.SumOf(e)
	if err != nil || stated.Elements == nil {
		return err
	}
	names, elements, ok := a.sums.Sum()
	if !ok {
		return &Refusal{fmt.Sprintf("the coordinator states a sum for plan %d, but the clients have opened none", e.Plan)}
	}
	own := session.Sum{Participants: clientIDs(names), Elements: elements}
	if !own.Equal(stated) {
		return &Refusal{fmt.Sprintf("the coordinator's sum for plan %d is not the one that the clients have opened", e.Plan)}
	}
	return nil
}

// sendKeys sends the keys for the other clients, once per process.
func (a *participant) sendKeys(ctx context.Context, link Link) error {
	if a.sums == nil || a.keyed {
		return nil
	}
	err := a.sendSaved(ctx, keysPart, link.Submit)
	a.keyed = err == nil
	return err
}

// addUp does this client's part of the work for the open plan's sum.
func (a *participant) addUp(ctx context.Context, link Link) error {
	if a.sums == nil {
		return nil
	}
	if a.sums.Wants() {
		if err := a.gather(ctx, link); err != nil {
			return err
		}
	}
	if a.sums.CanConfirm() || a.sums.CanShare() {
		if err := a.writeWord(); err != nil {
			return err
		}
	}
	if a.said || !a.sums.Said() {
		return nil
	}
	send := link.Submit
	if a.sums.Step() == sums.Confirming {
		send = func(ctx context.Context, item transport.Item) error { return link.Confirm(ctx, item.Envelope) }
	}
	if err := a.sendSaved(ctx, wordPart, send); err != nil {
		return err
	}
	a.said = true
	return nil
}

// gather fetches this client's columns of the deals in the cut. If the client cannot read one,
// gather complains to the coordinator, and the client does not confirm the cut.
func (a *participant) gather(ctx context.Context, link Link) error {
	err := a.learn(ctx, link)
	if err == nil {
		err = a.columns(ctx, link)
	}
	unopened, refused := new(sums.Unopened), new(sums.Refused)
	switch {
	case errors.As(err, &unopened):
		a.client.log.Error("a cut is not confirmed", "question", a.sums.Ask(), "error", err)
		err = link.Complain(ctx, a.sums.Ask(), a.sums.PlaceOf(unopened.Dealer))
	case errors.As(err, &refused):
		a.client.log.Error("a cut is not confirmed", "question", a.sums.Ask(), "error", err)
		return nil
	}
	if late := new(transport.Refusal); errors.As(err, &late) && late.Reason == transport.OutOfPlace {
		a.client.log.Info("a plan was ended or certified without this client", "question", a.sums.Ask())
		return nil
	}
	return err
}

// learn fetches the keys of those dealers in the cut whose keys this client does not have yet.
func (a *participant) learn(ctx context.Context, link Link) error {
	dealers := a.sums.Unknown()
	if len(dealers) == 0 {
		return nil
	}
	size := len(dealers) * sums.SealedKeySize
	sealed, err := link.PairKeys(ctx, dealers, int64(size))
	if err != nil {
		return err
	}
	if len(sealed) != size {
		return &Refusal{fmt.Sprintf("the coordinator sent keys of %d bytes instead of %d", len(sealed), size)}
	}
	for _, dealer := range dealers {
		if err := a.sums.Learn(a.member.keys.sealing, dealer, sealed[:sums.SealedKeySize]); err != nil {
			return err
		}
		sealed = sealed[sums.SealedKeySize:]
	}
	return nil
}

func (a *participant) columns(ctx context.Context, link Link) error {
	pieces, err := link.Columns(ctx, a.sums.Ask(), int64(a.sums.ColumnsSize()))
	if err != nil {
		return err
	}
	return a.sums.Gather(pieces)
}

// writeWord signs the confirmation or share that the open plan needs now. It saves the message with
// the state, so that it can be sent again.
func (a *participant) writeWord() error {
	var word saved
	var err error
	if signer := a.member.keys.identity; a.sums.CanConfirm() {
		word.Envelope, err = a.sums.Confirm(signer)
	} else {
		word.Envelope, word.Body, err = a.sums.Share(signer)
	}
	if err != nil {
		return err
	}
	change, err := a.change(0)
	if err != nil {
		return err
	}
	if change.Parts[wordPart], err = json.Marshal(word); err != nil {
		return err
	}
	a.said = false
	return a.client.store.Save(change)
}

// sendSaved sends a saved message if the coordinator still needs it.
func (a *participant) sendSaved(ctx context.Context, part string, send func(context.Context, transport.Item) error) error {
	var word saved
	if err := a.client.get(a.member.Hash, part, &word); err != nil {
		return err
	}
	err := send(ctx, transport.Item{Envelope: word.Envelope, Body: word.Body})
	var refused *transport.Refusal
	if errors.As(err, &refused) && (refused.Reason == transport.OutOfPlace || refused.Reason == transport.Ended) {
		a.client.log.Info("a message is no longer needed", "message", part, "question", a.sums.Ask(), "why", refused.Text)
		return nil
	}
	return err
}

func clientIDs(names []identity.Name) []pvi.ClientID {
	ids := make([]pvi.ClientID, len(names))
	for i, name := range names {
		ids[i] = pvi.ClientID(name)
	}
	return ids
}
