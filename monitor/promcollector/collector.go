// Package promcollector gives the metrics of snowkey to Prometheus.
//
//	watched, err := monitor.New(map[string]any{"app": plugin})
//	registry.MustRegister(promcollector.New(watched))
package promcollector

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowkey-go/snowkey/monitor"
)

type collector struct {
	of    *monitor.Monitor
	descs map[*monitor.Metric]*prometheus.Desc
}

// New returns a collector of the metrics that a monitor reads. It describes all of [monitor.Metrics], and is safe for concurrent use.
func New(of *monitor.Monitor) prometheus.Collector {
	c := collector{of: of, descs: map[*monitor.Metric]*prometheus.Desc{}}
	for _, m := range monitor.Metrics() {
		c.descs[m] = prometheus.NewDesc(m.Prometheus(), m.Help, m.Labels, nil)
	}
	return c
}

// Describe is prometheus.Collector's.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range monitor.Metrics() {
		to <- c.descs[m]
	}
}

// Collect is prometheus.Collector's.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.of.Read(context.Background()) {
		kind := prometheus.GaugeValue
		if s.Metric.Kind == monitor.Counter {
			kind = prometheus.CounterValue
		}
		made, err := prometheus.NewConstMetric(c.descs[s.Metric], kind, s.Value, s.Labels...)
		if err != nil {
			made = prometheus.NewInvalidMetric(c.descs[s.Metric], err)
		}
		to <- made
	}
}
