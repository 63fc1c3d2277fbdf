// Package monitor has the metrics of snowkey: their names, and what reads them from a plugin, a keeper, a generator, a source of tickets, or a table
// of node numbers. It depends on no library of metrics. Two modules give the samples to one: promcollector to Prometheus, otelmeter to OpenTelemetry.
//
//	watched, err := monitor.New(map[string]any{"app": plugin})
//	registry.MustRegister(promcollector.New(watched))
//
// # What it promises
//
//   - [Metrics] is the only place of names, kinds, units and labels. Both modules have all of them and no others, under one name in Prometheus.
//   - Reading asks no database, but for a [Numbers], which asks at most once a minute, and gives up after five seconds.
//   - A read never fails: what is not known now has no samples. That a table of node numbers could not be read is a sample of its own.
//   - Labels are bounded: names of sources and servers, which the program gives, and a hundred models.
//   - Counters start at 0 with the process, and are there from the start. Those of errors by model and class appear with the first error.
//
// # Alerts
//
// alerts.yml has rules for Prometheus, dashboard.json a dashboard for Grafana. The tests cause each fault on real servers and have promtool
// evaluate the rules over what was read before and after it.
package monitor
