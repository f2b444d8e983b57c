package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fedpvi/transport/internal/wirepb"
)

// reasonCodes has a gRPC code for each reason, for peers that do not read the details.
var reasonCodes = map[Reason]codes.Code{
	Malformed:   codes.InvalidArgument,
	Denied:      codes.PermissionDenied,
	Unknown:     codes.NotFound,
	OutOfPlace:  codes.FailedPrecondition,
	TooLarge:    codes.ResourceExhausted,
	Ended:       codes.OutOfRange,
	Unavailable: codes.Unavailable,
	Version:     codes.Unimplemented,
}

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// status returns the refusal as a gRPC status, with the reason and text in its details.
func (r *Refusal) status() error {
	code, ok := reasonCodes[r.Reason]
	if !ok {
		code = codes.Unknown
	}
	text := plain(r.Text)
	detail := wirepb.Refusal_builder{Reason: string(r.Reason), Text: text}.Build()
	s, err := status.New(code, text).WithDetails(detail)
	if err != nil {
		return status.Error(code, text)
	}
	return s.Err()
}

// refusalIn returns the refusal in a gRPC status, or nil. The other side may be hostile, so
// refusalIn ignores unknown reasons and replaces unprintable characters in the text.
func refusalIn(err error) *Refusal {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	for _, detail := range s.Details() {
		if d, ok := detail.(*wirepb.Refusal); ok {
			if _, known := reasonCodes[Reason(d.GetReason())]; known {
				return &Refusal{Reason: Reason(d.GetReason()), Text: plain(d.GetText())}
			}
		}
	}
	return nil
}

// plain makes a text safe for terminals and logs. It replaces unprintable characters and shortens
// long texts.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// outcome returns a call's outcome for the metrics: "ok", "canceled", "internal" or a [Reason].
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if r := refusalIn(err); r != nil {
		return string(r.Reason)
	}
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded:
		return "canceled"
	default:
		return "internal"
	}
}

// answer converts an error from a coordinator's method to a gRPC status. A refusal keeps its text,
// and a cancelled call has the code Canceled. For any other error, the caller gets only a random
// number, which the log has too.
func (s *Server) answer(ctx context.Context, c *call, err error) error {
	var refusal *Refusal
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return refusal.status()
	case errors.As(cause, &refusal):
		return refusal.status()
	case ctx.Err() != nil:
		return status.Error(codes.Canceled, "the call was given up")
	}
	incident := fmt.Sprintf("%08x", rand.Uint32())
	s.log.Error("a call failed", "method", c.method, "peer", c.peer.Name, "incident", incident, "error", err)
	return status.Error(codes.Internal, "the coordinator failed: ask its people about incident "+incident)
}
