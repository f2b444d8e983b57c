package transport

import (
	"context"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"fedpvi/transport/internal/wirepb"
)

// service implements the gRPC service. It checks messages and calls the Coordinator of the caller's
// study.
type service struct {
	wirepb.UnimplementedStudyServer
	server *Server
}

func (s service) Hello(_ context.Context, m *wirepb.HelloRequest) (*wirepb.HelloResponse, error) {
	version, err := agree(s.server.versions, versions{m.GetLowest(), m.GetHighest()})
	return wirepb.HelloResponse_builder{Version: version}.Build(), err
}

func (service) Join(ctx context.Context, m *wirepb.JoinRequest) (*wirepb.JoinResponse, error) {
	if err := checkJoin(m); err != nil {
		return nil, err
	}
	a, err := callOf(ctx).study.Coordinator.Join(ctx, JoinRequest{Token: m.GetToken(), Entry: m.GetEntry(), Request: m.GetRequest()})
	return wirepb.JoinResponse_builder{
		Study: a.Study, Authority: a.Authority, Certificate: a.Certificate, Coordinator: a.Coordinator,
	}.Build(), err
}

func (service) Renew(ctx context.Context, m *wirepb.RenewRequest) (*wirepb.RenewResponse, error) {
	if err := checkRenew(m); err != nil {
		return nil, err
	}
	c := callOf(ctx)
	r, err := c.study.Coordinator.Renew(ctx, c.peer, RenewRequest{Request: m.GetRequest(), Renewal: m.GetRenewal()})
	return wirepb.RenewResponse_builder{
		Certificate: r.Certificate, Authority: r.Authority, AuthoritySignature: r.Signature, Renewals: r.Renewals,
	}.Build(), err
}

func (service) Standing(ctx context.Context, _ *wirepb.StandingRequest) (*wirepb.StandingResponse, error) {
	c := callOf(ctx)
	st, err := c.study.Coordinator.Standing(ctx, c.peer)
	m := wirepb.StandingResponse_builder{Entries: st.Entries, Approved: st.Approved, Last: st.Last, Renewals: st.Renewals}.Build()
	st.Gossip.say(m)
	return m, err
}

func (service) Approve(ctx context.Context, m *wirepb.ApproveRequest) (*wirepb.ApproveResponse, error) {
	if err := checkEnvelope(m.GetEnvelope()); err != nil {
		return nil, err
	}
	c := callOf(ctx)
	return wirepb.ApproveResponse_builder{}.Build(), c.study.Coordinator.Approve(ctx, c.peer, m.GetEnvelope())
}

// healthOfStudies is the health service. It reports on the caller's study.
type healthOfStudies struct {
	healthpb.UnimplementedHealthServer
}

func (healthOfStudies) Check(ctx context.Context, m *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if m.GetService() != "" {
		return nil, refuse(Unknown, "there is no such service: leave the name empty")
	}
	return callOf(ctx).study.health.Check(ctx, m)
}

// unread converts an error that occurred when a message was read. gRPC has already sent it to the
// peer, so the resulting Refusal is only for the metrics. If the stream or its context has ended,
// unread returns the error unchanged.
func unread(err error) error {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return refuse(TooLarge, "the message has more than %d bytes", maxAsked)
	case codes.Internal:
		return refuse(Malformed, "the message cannot be decoded")
	}
	return err
}
