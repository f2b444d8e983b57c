package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// flush is the time limit for sending the last traces when the program ends.
const flush = 5 * time.Second

// tracesTo returns a provider that sends traces to an OTLP collector over HTTP, and a function that
// closes the provider. Package coordinator/daemon defines the traces.
func tracesTo(ctx context.Context, collector string) (*trace.TracerProvider, func(), error) {
	u, err := url.Parse(collector)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, fmt.Errorf("--traces %s: give the address of a collector for OTLP over HTTP, such as http://127.0.0.1:4318", collector)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, nil, fmt.Errorf("--traces: %w", err)
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(attribute.String("service.name", "fedpvi-coordinator"))),
	)
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.Background(), flush)
		defer cancel()
		// Ignore the error: the program must not fail because the collector cannot be reached.
		_ = provider.Shutdown(ctx)
	}, nil
}
