// Package otelmeter gives the metrics of snowkey to OpenTelemetry.
//
//	watched, err := monitor.New(map[string]any{"app": plugin})
//	registration, err := otelmeter.Register(otel.Meter("snowkey"), watched)
package otelmeter

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowkey-go/snowkey/monitor"
)

// Register makes an observable instrument of each of [monitor.Metrics], and has them observe what a monitor reads, at each collection until
// Unregister. The labels become attributes. The error is that of the meter.
func Register(meter metric.Meter, of *monitor.Monitor) (metric.Registration, error) {
	instruments := map[*monitor.Metric]metric.Float64Observable{}
	var all []metric.Observable
	for _, m := range monitor.Metrics() {
		var made metric.Float64Observable
		var err error
		if m.Kind == monitor.Counter {
			made, err = meter.Float64ObservableCounter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		} else {
			made, err = meter.Float64ObservableGauge(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		}
		if err != nil {
			return nil, fmt.Errorf("otelmeter: %s: %w", m.Name, err)
		}
		instruments[m], all = made, append(all, made)
	}
	return meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		for _, s := range of.Read(ctx) {
			labels := make([]attribute.KeyValue, len(s.Labels))
			for i, value := range s.Labels {
				labels[i] = attribute.String(s.Metric.Labels[i], value)
			}
			to.ObserveFloat64(instruments[s.Metric], s.Value, metric.WithAttributes(labels...))
		}
		return nil
	}, all...)
}
