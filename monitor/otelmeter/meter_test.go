package otelmeter_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/monitor"
	"github.com/snowkey-go/snowkey/monitor/otelmeter"
)

// What a reader of OpenTelemetry collects is each sample that the monitor reads, with its name, unit, kind and attributes; nothing after Unregister.
func TestEverySampleIsCollected(t *testing.T) {
	keeper, err := grant.Open(t.Context(), grant.Memory(nil), grant.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keeper.Close() }()
	if err := keeper.Fill(t.Context(), make([]int64, 5)); err != nil {
		t.Fatal(err)
	}
	watched, err := monitor.New(map[string]any{"app": keeper, "numbers": monitor.NewNumbers(keeper)})
	if err != nil {
		t.Fatal(err)
	}
	reader := metric.NewManualReader()
	registration, err := otelmeter.Register(metric.NewMeterProvider(metric.WithReader(reader)).Meter("snowkey"), watched)
	if err != nil {
		t.Fatal(err)
	}
	type series struct {
		name, unit string
		counter    bool
		labels     attribute.Distinct
	}
	collect := func() map[series]float64 {
		t.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		got := map[series]float64{}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				switch data := m.Data.(type) {
				case metricdata.Sum[float64]:
					for _, p := range data.DataPoints {
						got[series{m.Name, m.Unit, data.IsMonotonic, p.Attributes.Equivalent()}] = p.Value
					}
				case metricdata.Gauge[float64]:
					for _, p := range data.DataPoints {
						got[series{m.Name, m.Unit, false, p.Attributes.Equivalent()}] = p.Value
					}
				}
			}
		}
		return got
	}
	got, samples := collect(), watched.Read(t.Context())
	for _, sample := range samples {
		var labels []attribute.KeyValue
		for i, value := range sample.Labels {
			labels = append(labels, attribute.String(sample.Metric.Labels[i], value))
		}
		set := attribute.NewSet(labels...)
		s := series{sample.Metric.Name, sample.Metric.Unit, sample.Metric.Kind == monitor.Counter, set.Equivalent()}
		value, found := got[s]
		if changing := sample.Metric.Unit == "s"; !found || value != sample.Value && !changing {
			t.Errorf("%s %v: got %v, %t, want %v", s.name, sample.Labels, value, found, sample.Value)
		}
	}
	if len(got) != len(samples) || len(samples) == 0 {
		t.Errorf("got %d series of %d samples", len(got), len(samples))
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got := collect(); len(got) != 0 {
		t.Errorf("got %d series after Unregister, want none", len(got))
	}
}
