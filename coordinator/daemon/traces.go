package daemon

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// This file is all that a trace has. A span is of one call or of one thing that this machine does alone;
// it has a name of a list, and how it ended. It has no study, party, round, address or size, and is
// not part of a trace of the caller's, whose word would go to the monitoring system otherwise. Calls
// that wait for news have none: they say how long others took.
//
// What is left is when things happened. An answer comes when its client has computed it, so traces, unlike
// metrics, say roughly how long that takes, as the network does: they are for those who may know it.

// scope is the name under which spans are made.
const scope = "fedpvi/coordinator"

// spans are the names of spans: calls of clients, and what the coordinator does alone.
var spans = []string{
	"Hello", "Join", "Renew", "Standing", "Approve", "Submit", "Check",
	"open", "transaction",
}

// outcome is the one attribute of a span: a word that metrics have too.
const outcome = attribute.Key("outcome")

// traceTo returns what makes spans; nil for nowhere.
func traceTo(provider trace.TracerProvider) func(name string) (end func(how string)) {
	if provider == nil {
		return nil
	}
	tracer := provider.Tracer(scope)
	return func(name string) func(string) {
		if !slices.Contains(spans, name) {
			name = "other"
		}
		_, span := tracer.Start(context.Background(), name)
		return func(how string) {
			span.SetAttributes(outcome.String(how))
			span.End()
		}
	}
}
