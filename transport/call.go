package transport

import (
	"context"
	"errors"
	"path"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/transport/internal/wirepb"
)

// A call is a method call on a server. It is created before the server reads the client's first
// message.
type call struct {
	study  *served
	peer   channel.Party
	method string // name of the method, without the service
	watch  *watch
	ctx    context.Context
	end    context.CancelCauseFunc
}

// versionHeader is the name of the header with the protocol version that a call uses.
const versionHeader = "fedpvi-version"

// permissions lists all methods and who may call them. guests allows calls without a certificate,
// and versionless allows calls before a protocol version is agreed on.
var permissions = map[string]struct {
	guests, versionless bool
	long                bool   // whether the call may take any time as long as it makes progress
	since               uint32 // first protocol version that has the method
}{
	wirepb.Study_Hello_FullMethodName:    {guests: true, versionless: true},
	wirepb.Study_Join_FullMethodName:     {guests: true},
	wirepb.Study_Renew_FullMethodName:    {guests: true},
	wirepb.Study_Standing_FullMethodName: {},
	wirepb.Study_Approve_FullMethodName:  {},
	wirepb.Study_Follow_FullMethodName:   {long: true},
	wirepb.Study_Submit_FullMethodName:   {long: true},
	wirepb.Study_Pieces_FullMethodName:   {long: true, since: secureSince},
	wirepb.Study_Confirm_FullMethodName:  {since: secureSince},
	healthpb.Health_Check_FullMethodName: {versionless: true},
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// admit decides whether a call is allowed, given its method and its caller. The returned context
// ends when the call has not made progress for too long, or when the server shuts down. From then
// on, reads and writes of the call fail.
func (s *Server) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, errors.New("the call has no connection")
	}
	who, ok := p.AuthInfo.(caller)
	if !ok {
		return ctx, errors.New("the connection of the call has no handshake")
	}
	if refusal := s.permit(who, info); refusal != nil {
		err := refusal.status()
		s.observer.Called(knownMethod(info.FullMethodName), outcome(err))
		s.audit(ctx, who.peer, knownMethod(info.FullMethodName), outcome(err))
		return ctx, err
	}
	return s.newCall(ctx, who, info.FullMethodName), nil
}

func (s *Server) newCall(ctx context.Context, who caller, method string) context.Context {
	study := s.find(who.study) // not nil, because the TLS handshake has chosen this study
	ctx, cancel := context.WithCancelCause(ctx)
	limit := s.timing.call
	if permissions[method].long {
		limit = s.timing.stall
	}
	c := &call{study, who.peer, path.Base(method), newWatch(limit, cancel), ctx, cancel}
	stop := context.AfterFunc(study.ctx, func() { cancel(context.Cause(study.ctx)) })
	context.AfterFunc(ctx, func() { stop(); c.watch.stop() })
	return context.WithValue(ctx, callKey{}, c)
}

func (s *Server) permit(who caller, info *tap.Info) *Refusal {
	rule, ok := permissions[info.FullMethodName]
	guest := who.peer == (channel.Party{})
	switch {
	case !ok:
		return refuse(Denied, "there is no such method")
	case guest && !rule.guests:
		return refuse(Denied, "a guest may only join, or renew its certificate: use the certificate of a party")
	case !guest && who.peer.Role != identity.Client:
		return refuse(Denied, "only clients may call this")
	case !rule.versionless:
		return s.speaks(info.Header.Get(versionHeader), rule.since)
	}
	return nil
}

// speaks checks the protocol version in the header of a call. The version must be supported and
// must have the method, which was added in version since. If the call is refused, the client agrees
// on a version again.
func (s *Server) speaks(header []string, since uint32) *Refusal {
	if len(header) == 1 {
		if v, err := strconv.ParseUint(header[0], 10, 32); err == nil && s.versions.has(uint32(v)) && uint32(v) >= since {
			return nil
		}
	}
	return refuse(Version, "the call does not use %v: agree on a version first", s.versions)
}

// knownMethod returns a method's name for metrics, or "other" if the method is unknown. Otherwise a
// peer could fill the metrics with names that it makes up.
func knownMethod(full string) string {
	if _, ok := permissions[full]; ok {
		return path.Base(full)
	}
	return "other"
}

func (s *Server) unary(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	end := s.begin(callOf(ctx))
	out, err := next(ctx, in)
	err = s.answer(ctx, callOf(ctx), err)
	end(outcome(err))
	return out, err
}

func (s *Server) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx := stream.Context()
	end := s.begin(callOf(ctx))
	err := s.answer(ctx, callOf(ctx), next(srv, stream))
	end(outcome(err))
	return err
}

// begin tells the observers that a call begins. The caller must call end with the outcome.
func (s *Server) begin(c *call) (end func(outcome string)) {
	traced := func(string) {}
	if c.method != path.Base(wirepb.Study_Follow_FullMethodName) {
		traced = s.trace(c.method)
	}
	return func(outcome string) {
		traced(outcome)
		s.observer.Called(c.method, outcome)
		s.audit(c.ctx, c.peer, c.method, outcome)
	}
}

// A watch ends a call that has not made progress within the time limit.
type watch struct {
	limit time.Duration
	timer *time.Timer
}

func newWatch(limit time.Duration, cancel context.CancelCauseFunc) *watch {
	return &watch{limit, time.AfterFunc(limit, func() {
		cancel(refuse(Unavailable, "nothing moved for %v", limit))
	})}
}

// moved records progress, so that the time limit starts again.
func (w *watch) moved() { w.timer.Reset(w.limit) }

// stop suspends the time limit until moved is called.
func (w *watch) stop() { w.timer.Stop() }
