package daemon

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"fedpvi/coordinator/admin"
	"fedpvi/transport"
)

//abuse:case A17 a trace has no client, study, size or address
func TestSpansHaveOnlyNameAndOutcome(t *testing.T) {
	seen := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(seen))
	r := start(t, Config{Traces: provider})
	guest, _ := r.guest(t)
	if _, err := guest.Join(t.Context(), transport.JoinRequest{Token: []byte("t"), Entry: []byte("e"), Request: []byte("r")}); err == nil {
		t.Error("a guest joined with nothing")
	}
	check(t, guest.Close())
	orders, err := admin.Dial(t.Context(), r.dir)
	check(t, err)
	check(t, orders.Abort(t.Context(), "", "a drill"))
	check(t, r.stop())
	names := map[string]bool{}
	for _, s := range seen.GetSpans() {
		names[s.Name] = true
		if !slices.Contains(spans, s.Name) {
			t.Errorf("a span is called %q", s.Name)
		}
		if len(s.Attributes) != 1 || s.Attributes[0].Key != outcome || strings.ContainsAny(s.Attributes[0].Value.AsString(), ".: 0123456789") {
			t.Errorf("%s has %v", s.Name, s.Attributes)
		}
		if len(s.Events)+len(s.Links) > 0 || s.Status.Code != codes.Unset || s.Status.Description != "" || s.Parent.IsValid() || s.SpanContext.TraceState().Len() > 0 || s.SpanKind != trace.SpanKindInternal {
			t.Errorf("%s has more than a name and an outcome: %+v", s.Name, s)
		}
		if s.InstrumentationScope.Name != scope || s.InstrumentationScope.Attributes.Len() > 0 {
			t.Errorf("%s is of %+v", s.Name, s.InstrumentationScope)
		}
	}
	for _, want := range []string{"Hello", "Join", "transaction"} {
		if !names[want] {
			t.Errorf("there is no span %s", want)
		}
	}
}

func TestUnknownSpanIsOther(t *testing.T) {
	seen := tracetest.NewInMemoryExporter()
	traceTo(sdk.NewTracerProvider(sdk.WithSyncer(seen)))("secretive-clinic")("ok")
	if all := seen.GetSpans(); len(all) != 1 || all[0].Name != "other" {
		t.Errorf("%+v", all)
	}
	if traceTo(nil) != nil {
		t.Error("spans are made without a provider")
	}
}
