package serve

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowkey-go/snowkey/monitor"
	"github.com/snowkey-go/snowkey/monitor/promcollector"
)

// What becomes of requests.
const (
	answered     = "answered"
	wrong        = "wrong"        // the client's fault
	unauthorized = "unauthorized" // no token, or another one
	unavailable  = "unavailable"  // no key can be made
)

// metrics are those of requests, by their result.
type metrics struct{ http, redis map[string]prometheus.Counter }

// register adds the server's own metrics.
func (s *Server) register() {
	s.registry = prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snowkey_serve_requests_total", Help: "Requests for keys and for their parts, and commands of Redis's protocol: answered, wrong, unauthorized, unavailable.",
	}, []string{"protocol", "result"})
	s.metrics = metrics{map[string]prometheus.Counter{}, map[string]prometheus.Counter{}}
	for _, result := range []string{answered, wrong, unauthorized, unavailable} {
		s.metrics.http[result], s.metrics.redis[result] = requests.WithLabelValues("http", result), requests.WithLabelValues("redis", result)
	}
	s.registry.MustRegister(requests,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "snowkey_serve_connections", Help: "Open connections."},
			func() float64 { return float64(s.limit.open.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "snowkey_serve_refused_connections_total", Help: "Connections that were refused, since too many were open."},
			func() float64 { return float64(s.limit.refused.Load()) }))
}

// watch adds the metrics of the source.
func (s *Server) watch(source Source) error {
	watched, err := monitor.New(map[string]any{"serve": source})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return s.registry.Register(promcollector.New(watched))
}
