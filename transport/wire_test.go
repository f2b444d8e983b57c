package transport

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"fedpvi/transport/internal/wirepb"
)

// The fields of all messages must be those on a reviewed list. Only two depend on records: the
// encrypted body of an answer, and the body of a deal or share. They have the same size for all
// clients.
//
//abuse:case A18 no message has a field for a loss, norm, count or time
func TestFieldsAreTheReviewedOnes(t *testing.T) {
	want := strings.Fields(`
		ApproveRequest.envelope
		ConfirmRequest.ask ConfirmRequest.envelope ConfirmRequest.unopened
		FollowRequest.brief FollowRequest.number FollowRequest.offset FollowRequest.stay FollowRequest.wait_ms
		FollowResponse.piece FollowResponse.start
		HelloRequest.highest HelloRequest.lowest HelloResponse.version
		JoinRequest.entry JoinRequest.request JoinRequest.token
		JoinResponse.authority JoinResponse.certificate JoinResponse.coordinator JoinResponse.study
		Offer.body Offer.envelope Offer.size
		Piece.data Piece.offset
		PiecesRequest.ask PiecesRequest.keys_of PiecesRequest.offset PiecesRequest.release PiecesResponse.piece
		Refusal.reason Refusal.text
		RenewRequest.renewal RenewRequest.request
		RenewResponse.authority RenewResponse.authority_signature RenewResponse.certificate RenewResponse.renewals
		StandingResponse.approved StandingResponse.entries StandingResponse.gossip_key
		StandingResponse.gossip_port StandingResponse.last StandingResponse.renewals
		Start.brief Start.envelope Start.number Start.offset Start.sha256 Start.size
		SubmitRequest.offer SubmitRequest.piece SubmitResponse.have`)
	got := fields(wirepb.File_fedpvi_proto.Messages())
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-known +there):\n%s", diff)
	}
}

func fields(messages protoreflect.MessageDescriptors) (all []string) {
	for i := range messages.Len() {
		m := messages.Get(i)
		for k := range m.Fields().Len() {
			all = append(all, fmt.Sprintf("%s.%s", m.Name(), m.Fields().Get(k).Name()))
		}
		all = append(all, fields(m.Messages())...)
	}
	return all
}
