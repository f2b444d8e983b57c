// Package collector sends audit logs to OpenTelemetry collectors, by OTLP over HTTP.
package collector

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"fedpvi/internal/audit"
)

// flush is the time limit for sending the last lines.
const flush = 5 * time.Second

// Open returns a sink for each destination that is an OpenTelemetry collector, such as
// otlp+http://127.0.0.1:4318. It also returns the other destinations, for [audit.Open]. The log
// shows program as the name of the program. Open fails if the address of a collector is invalid.
func Open(ctx context.Context, program string, all []string) (destinations []string, sinks []audit.Sink, err error) {
	for _, d := range all {
		collector, ok := strings.CutPrefix(d, "otlp+")
		if !ok {
			destinations = append(destinations, d)
			continue
		}
		s, err := newCollector(ctx, program, collector)
		if err != nil {
			return nil, nil, err
		}
		sinks = append(sinks, s)
	}
	return destinations, sinks, nil
}

// A collector is a sink that sends the audit log to an OpenTelemetry collector by OTLP over HTTP,
// one batch per second. If the collector cannot be reached for a minute, the lines written in that
// time are lost.
type collector struct {
	provider *sdk.LoggerProvider
	logger   log.Logger
}

var _ audit.Sink = (*collector)(nil)

func newCollector(ctx context.Context, program, address string) (*collector, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--audit otlp+%s: give the address of a collector for OTLP over HTTP, such as otlp+http://127.0.0.1:4318", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/logs"
	}
	exporter, err := otlploghttp.New(ctx, otlploghttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	provider := sdk.NewLoggerProvider(
		sdk.WithProcessor(sdk.NewBatchProcessor(exporter)),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", program))),
	)
	return &collector{provider, provider.Logger("fedpvi/audit")}, nil
}

// Write implements [audit.Sink]. The event becomes the body of the record.
func (c *collector) Write(l audit.Line) error {
	var r log.Record
	r.SetTimestamp(l.Time)
	r.SetEventName(l.Event)
	r.SetBody(attribute.StringValue(l.Event))
	r.SetSeverity(log.Severity(l.Level + 9)) // OpenTelemetry's severities are slog's levels plus 9
	r.SetSeverityText(l.Level.String())
	for _, a := range l.Attrs {
		r.AddAttributes(attribute.KeyValue{Key: attribute.Key(a.Key), Value: valueOf(a.Value)})
	}
	c.logger.Emit(context.Background(), r)
	return nil
}

func valueOf(v slog.Value) attribute.Value {
	switch v.Kind() {
	case slog.KindInt64:
		return attribute.Int64Value(v.Int64())
	case slog.KindUint64:
		return attribute.Int64Value(int64(v.Uint64()))
	case slog.KindBool:
		return attribute.BoolValue(v.Bool())
	}
	if texts, ok := v.Any().([]string); ok {
		return attribute.StringSliceValue(texts)
	}
	return attribute.StringValue(v.String())
}

// Close implements [audit.Sink].
func (c *collector) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), flush)
	defer cancel()
	return c.provider.Shutdown(ctx)
}
