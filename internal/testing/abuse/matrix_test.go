package abuse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// shut is an invented status code for a connection that the server must refuse.
const shut = codes.Code(1000)

// A scene is a coordinator with two running studies. In the first, clients north and south take
// part, client west has left, and client late was invited but has not joined.
type scene struct {
	hub                      *hub
	north, south, west, late *party
	elsewhere                *party // client of the second study with the name north
	chain                    transcript.Chain
	model                    transport.Hash
	size                     int // size in bytes of an encrypted answer
}

func newScene(t *testing.T) *scene {
	s := &scene{hub: serve(t)}
	parties := s.hub.found(document("first"), "north", "south", "west", "late")
	s.north, s.south, s.west, s.late = parties[0], parties[1], parties[2], parties[3]
	others := s.hub.found(document("second"), "north", "south")
	s.elsewhere = others[0]
	for _, p := range slices.Concat(parties[:3], others) {
		p.join()
		check(t, p.line().Approve(t.Context(), p.consent()))
	}
	check(t, s.west.line().Approve(t.Context(), s.west.leave()))
	check(t, s.hub.orders.Begin(t.Context(), "first"))
	line := s.north.line()
	s.chain = transcript.Begin(s.north.invited.Study, s.coordinator())
	for number := uint64(1); number <= 2; number++ {
		item, err := line.Entry(t.Context(), number)
		check(t, err)
		var e transcript.Entry
		s.chain, e, err = s.chain.Follow(item.Envelope, item.Body)
		check(t, err)
		s.model = e.Model
	}
	s.size = s.sealed()
	return s
}

// sealed returns the size that all encrypted answers have.
func (s *scene) sealed() int {
	st, err := study.Parse("study.toml", document("first"))
	check(s.hub.t, err)
	size, err := session.MaxRelease(st, []pvi.ClientID{"north", "south"})
	check(s.hub.t, err)
	header := s.chain.ReleaseHeader(1, s.model, s.north.identity.Fingerprint(), 1, transport.Hash{1})
	return seal.SealedSize(len(header.Bytes()), size)
}

func (s *scene) coordinator() identity.PublicKey {
	e, err := roster.ParseEntry(s.north.admission.Coordinator, s.north.invited.Study)
	check(s.hub.t, err)
	return e.Key
}

// A role is a kind of caller. may lists the methods that it may call, with the status codes that
// they return. All other methods must return PermissionDenied.
type role struct {
	who    string
	config *tls.Config
	as     *party // party whose requests the caller sends
	may    map[string]codes.Code
}

const (
	hello, join, renew, standing = "Hello", "Join", "Renew", "Standing"
	approve, follow, submit      = "Approve", "Follow", "Submit"
	pieces, confirm              = "Pieces", "Confirm"
	health                       = "Check"
)

func (s *scene) roles() []role {
	guest := func(p *party) *tls.Config { return channel.Join(p.invited.Study, p.invited.Pin, time.Now) }
	trusting := func(c *tls.Config, name string) *tls.Config {
		c.ServerName, c.InsecureSkipVerify, c.VerifyConnection = name, true, nil
		return c
	}
	first := channel.ServerName(s.north.invited.Study)
	nowhere := map[string]codes.Code{}
	for _, m := range []string{hello, join, renew, standing, approve, follow, submit, pieces, confirm, health, "Watch", "List"} {
		nowhere[m] = shut
	}
	full := map[string]codes.Code{
		hello: codes.OK, join: codes.OK, renew: codes.OK, standing: codes.OK, approve: codes.OK,
		follow: codes.OK, submit: codes.OK, health: codes.OK,
		// Only a study with secure aggregation has these two methods.
		pieces: codes.FailedPrecondition, confirm: codes.FailedPrecondition,
	}
	return []role{
		{"a client", s.north.config().TLS, s.north, full},
		{"a client with another client's objects", s.north.config().TLS, s.south, map[string]codes.Code{
			// These requests concern nothing that belongs to a particular client.
			hello: codes.OK, standing: codes.OK, follow: codes.OK, health: codes.OK,
			pieces: codes.FailedPrecondition,
			join:   codes.OK,              // anybody with an unused token can redeem an invitation
			renew:  codes.InvalidArgument, // the request was signed with another client's key
		}},
		{"a client with objects of another study", s.north.config().TLS, s.elsewhere, map[string]codes.Code{
			hello: codes.OK, standing: codes.OK, follow: codes.OK, health: codes.OK,
			join: codes.InvalidArgument, renew: codes.InvalidArgument, pieces: codes.FailedPrecondition,
		}},
		{"a client that has left", s.west.config().TLS, s.west, map[string]codes.Code{
			hello: codes.OK, join: codes.OK, standing: codes.OK, health: codes.OK,
			// The status code means that a client cannot come back after it has left.
			approve: codes.FailedPrecondition,
		}},
		{"a guest without an invitation", guest(s.north), s.elsewhere, map[string]codes.Code{hello: codes.OK, join: codes.InvalidArgument}},
		{"a guest with an invitation, too late", guest(s.late), s.late, map[string]codes.Code{hello: codes.OK, join: codes.FailedPrecondition}},
		{"a client of another study", trusting(s.elsewhere.config().TLS, first), s.elsewhere, nowhere},
		{"an outsider with a certificate of its own", trusting(s.outsider(identity.Client, "north"), first), s.north, nowhere},
		{"an outsider who says it is the coordinator", trusting(s.outsider(identity.Coordinator, "coordinator"), first), s.north, nowhere},
		{"a client, to a study that is not there", trusting(s.north.config().TLS, channel.ServerName(transport.Hash{1})), s.north, nowhere},
	}
}

// outsider returns the TLS configuration of an attacker. The attacker's certificate is for the
// first study, but comes from an authority of the attacker's own.
func (s *scene) outsider(as identity.Role, name identity.Name) *tls.Config {
	t := s.hub.t
	p := channel.Party{Study: s.north.invited.Study, Role: as, Name: name}
	now := time.Now()
	authority, err := channel.CreateAuthority(nil, t.TempDir()+"/keys/authority.key", p.Study, now, now.Add(time.Hour))
	check(t, err)
	request, err := channel.NewRequest(s.late.identity, s.late.tls, p)
	check(t, err)
	certificate, err := authority.Issue(request, p, s.late.identity.Public(), s.late.tls.Pin(), now, now.Add(time.Hour))
	check(t, err)
	c, err := channel.NewCredentials(p, s.late.tls, authority.Certificate(), certificate, now)
	check(t, err)
	return channel.Client{Credentials: c, Now: time.Now}.Config()
}

// requests returns the requests that a party would send, keyed by message name.
func (s *scene) requests(p *party) map[protoreflect.Name]string {
	body := make([]byte, s.size)
	join := p.joining()
	consent := p.consent()
	return map[protoreflect.Name]string{
		"HelloRequest":       `lowest: 1 highest: 1`,
		"JoinRequest":        fmt.Sprintf("token: %s entry: %s request: %s", quoted(join.Token), quoted(join.Entry), quoted(join.Request)),
		"RenewRequest":       fmt.Sprintf("request: %s", quoted(p.request)),
		"StandingRequest":    ``,
		"ApproveRequest":     fmt.Sprintf("envelope: %s", quoted(consent)),
		"FollowRequest":      `number: 1`,
		"SubmitRequest":      fmt.Sprintf("offer { envelope: %s size: %d }", quoted(p.release(s.chain, s.model, body)), len(body)),
		"PiecesRequest":      `ask: 1`,
		"ConfirmRequest":     fmt.Sprintf("envelope: %s", quoted(consent)),
		"HealthCheckRequest": ``,
		"HealthListRequest":  ``,
	}
}

// quoted returns b as a string in the text format of protocol buffers.
func quoted(b []byte) string {
	out := []byte{'"'}
	for _, c := range b {
		out = fmt.Appendf(out, `\x%02x`, c)
	}
	return string(append(out, '"'))
}

// Every role calls every method, with its own objects and with those of other parties. Every call
// that is not explicitly allowed must be denied, or its connection must be refused. The test fails
// if it has no request for some method.
//
//abuse:case P02 a call that is not explicitly allowed is PermissionDenied, or refused in the handshake
//abuse:case P04 an unauthorised caller reaches no handler, and nothing changes
//abuse:case A08 another study's client, a left one and a self-made certificate get nowhere
func TestRolesAndMethods(t *testing.T) {
	s := newScene(t)
	before := s.status()
	for _, r := range s.roles() {
		t.Run(r.who, func(t *testing.T) {
			conn := s.connect(r.config)
			defer conn.Close()
			requests := s.requests(r.as)
			called := map[string]bool{}
			for _, m := range methods(t) {
				name := string(m.Name())
				called[name] = true
				text, ok := requests[m.Input().Name()]
				if !ok {
					t.Fatalf("%s is new: give it a request and a row for each role", m.FullName())
				}
				want, ok := r.may[name]
				if !ok {
					want = codes.PermissionDenied
				}
				if got := s.call(t, conn, m, text); got != want {
					t.Errorf("%s: %v, want %v", m.FullName(), got, want)
				}
			}
			for name := range r.may {
				if !called[name] {
					t.Errorf("%s is no method any more", name)
				}
			}
		})
	}
	if after := s.status(); after != before {
		t.Errorf("the study was\n%s\nand is\n%s", before, after)
	}
}

// status returns the state of all studies as text. It leaves out the times of the clients' last
// calls.
func (s *scene) status() (text string) {
	all, err := s.hub.orders.Status(s.hub.t.Context(), "")
	check(s.hub.t, err)
	for _, one := range all {
		text += fmt.Sprintf("%s %s %d entries %d asked\n", one.Study, one.Phase, one.Entries, one.Asked)
		for _, c := range one.Clients {
			text += fmt.Sprintf("  %s %s %s %d answers\n", c.Name, c.Key, c.State, c.Answers)
		}
	}
	return text
}

func methods(t *testing.T) (all []protoreflect.MethodDescriptor) {
	t.Helper()
	for _, name := range []protoreflect.FullName{"fedpvi.v1.Study", "grpc.health.v1.Health"} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		check(t, err)
		list := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			all = append(all, list.Get(i))
		}
	}
	return all
}

func (s *scene) connect(c *tls.Config) *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///"+s.hub.address, grpc.WithTransportCredentials(credentials.NewTLS(c)), grpc.WithAuthority(c.ServerName))
	check(s.hub.t, err)
	return conn
}

// call makes a call with one message, and returns the status of the reply.
func (s *scene) call(t *testing.T, conn *grpc.ClientConn, m protoreflect.MethodDescriptor, text string) codes.Code {
	t.Helper()
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	check(t, prototext.Unmarshal([]byte(text), in))
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "fedpvi-version", "2"), 10*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()))
	if err == nil {
		_ = stream.SendMsg(proto.Message(in)) // if this fails, the reply has the error too
		if !m.IsStreamingClient() {
			_ = stream.CloseSend()
		}
		err = stream.RecvMsg(out)
	}
	switch {
	case errors.Is(err, io.EOF):
		return codes.OK // the stream has ended without error
	case status.Code(err) == codes.Unavailable:
		return shut
	}
	return status.Code(err)
}
