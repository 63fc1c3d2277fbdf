package promcollector_test

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/monitor"
	"github.com/snowkey-go/snowkey/monitor/promcollector"
)

// What Prometheus gathers is each sample that the monitor reads, under its name, with its labels and its kind; and the names are as Prometheus wants them.
func TestEverySampleIsGathered(t *testing.T) {
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
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(promcollector.New(watched))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	type series struct{ name, labels string }
	got := map[series]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			s := series{name: family.GetName()}
			for _, label := range m.GetLabel() { // in the order of names
				s.labels += label.GetName() + "=" + label.GetValue() + ","
			}
			got[s] = m.GetCounter().GetValue() + m.GetGauge().GetValue() // one of them is nil
			if (m.Counter != nil) != (s.name[max(0, len(s.name)-6):] == "_total") {
				t.Errorf("%s is of the kind %s", s.name, family.GetType())
			}
		}
	}
	samples := watched.Read(t.Context())
	for _, sample := range samples {
		var labels []string
		for i, value := range sample.Labels {
			labels = append(labels, sample.Metric.Labels[i]+"="+value+",")
		}
		slices.Sort(labels)
		s := series{name: sample.Metric.Prometheus()}
		for _, label := range labels {
			s.labels += label
		}
		value, found := got[s]
		if changing := sample.Metric.Unit == "s"; !found || value != sample.Value && !changing {
			t.Errorf("%v: got %v, %t, want %v", s, value, found, sample.Value)
		}
	}
	if len(got) != len(samples) || got[series{"snowkey_ids_total", "source=app,"}] != 5 || got[series{"snowkey_numbers_taken", "source=numbers,"}] != 1 {
		t.Errorf("got %d series of %d samples: %v", len(got), len(samples), got)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("got the problems %v, %v", problems, err)
	}
}
