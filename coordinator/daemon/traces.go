package daemon

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// This file defines the contents of traces. A span covers one call or one local operation. It has a
// name from the list below and an outcome, and no study, client, round, address or size. A span
// never continues a trace of the caller, whose text would then reach the monitoring system. Calls
// that wait for new entries have no span: its length would show how long other clients took.
//
// Traces contain the times of events. If the study file sets no federation.pace, a client sends an
// answer as soon as it is computed, so traces show roughly how long the computation took, as the
// network does. Only people who are allowed to learn these times should receive traces.

// scope is the instrumentation scope of the spans.
const scope = "fedpvi/coordinator"

// spans lists the permitted names: calls by clients, then local operations.
var spans = []string{
	"Hello", "Join", "Renew", "Standing", "Approve", "Submit", "Check",
	"open", "transaction",
}

// outcome is the only attribute of a span, with the values of the label "outcome" in the metrics.
const outcome = attribute.Key("outcome")

// traceTo returns a function that begins a span with the given name, or with the name "other" if
// the given one is not permitted. The function end finishes the span. If provider is nil, traceTo
// returns nil.
func traceTo(provider trace.TracerProvider) func(name string) (end func(result string)) {
	if provider == nil {
		return nil
	}
	tracer := provider.Tracer(scope)
	return func(name string) func(string) {
		if !slices.Contains(spans, name) {
			name = "other"
		}
		_, span := tracer.Start(context.Background(), name)
		return func(result string) {
			span.SetAttributes(outcome.String(result))
			span.End()
		}
	}
}
