package monitor

import "strings"

// Kind is what a metric's values do.
type Kind uint8

// The kinds.
const (
	Counter Kind = iota // only grows while the process lives
	Gauge
)

// Metric is one of [Metrics].
type Metric struct {
	Name   string // as OpenTelemetry has it
	Kind   Kind
	Unit   string // "s", "1" for a ratio, or what is counted, such as "{id}"
	Help   string
	Labels []string // the source's name first
}

// Prometheus returns the name that Prometheus has for the metric, which an exporter of OpenTelemetry gives it too.
func (m *Metric) Prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch {
	case m.Unit == "s":
		name += "_seconds"
	case m.Unit == "1" && m.Kind == Gauge:
		name += "_ratio"
	}
	if m.Kind == Counter {
		name += "_total"
	}
	return name
}

// Metrics returns all metrics, in the order of the documentation.
func Metrics() []*Metric { return append([]*Metric(nil), metrics...) }

var metrics []*Metric

func metric(name string, kind Kind, unit, help string, labels ...string) *Metric {
	m := &Metric{Name: "snowkey." + name, Kind: kind, Unit: unit, Help: help, Labels: append([]string{"source"}, labels...)}
	metrics = append(metrics, m)
	return m
}

// Of generators and keepers. Sources of tickets have ids, and blocks have waits.
var (
	ids        = metric("ids", Counter, "{id}", "Ids that were made.")
	waits      = metric("waits", Counter, "{wait}", "Times that a call waited, for a tick, the clock, or a block.")
	waited     = metric("wait", Counter, "s", "All the time that calls of a generator waited.")
	borrowed   = metric("borrowed.ticks", Counter, "{tick}", "Ticks that were opened ahead of the clock.")
	clockSteps = metric("clock.steps", Counter, "{step}", "Steps of the machine's clock that were seen: back, forward.", "direction")
	refusals   = metric("refusals", Counter, "{call}", "Calls of a generator that failed: full, clock, time, grant, ended.", "kind")
)

// Of keepers.
var (
	grantHeld     = metric("grant.held", Gauge, "{grant}", "1 while there is a node number whose grant has not ended, else 0: creates fail.")
	grantLeft     = metric("grant.left", Gauge, "s", "How long keys flow without another renewal.")
	grantAcquired = metric("grant.acquired", Counter, "{number}", "Node numbers that were acquired.")
	grantRenewals = metric("grant.renewals", Counter, "{renewal}", "Renewals of grants.")
	grantFailures = metric("grant.failures", Gauge, "{renewal}", "Renewals that failed since the last one that did not.")
	grantLost     = metric("grant.lost", Counter, "{number}", "Node numbers that were lost.")
	grantDoubts   = metric("grant.doubts", Gauge, "{range}", "Ranges of ids that may exist twice, since the database has forgotten a grant; up to 100.")
	grantAhead    = metric("grant.ahead", Gauge, "s", "How far the generator's clock is ahead of the database's.")
	grantWarnings = metric("grant.warnings", Gauge, "{warning}", "Warnings of the database, such as that it may lose commits.")
)

// Of tables of node numbers.
var (
	numbersAll    = metric("numbers", Gauge, "{number}", "Node numbers that the key space has.")
	numbersTaken  = metric("numbers.taken", Gauge, "{number}", "Node numbers that nobody can acquire now.")
	numbersSilent = metric("numbers.silent", Gauge, "{number}", "Node numbers of holders that have most likely ended without Close.")
	numbersErrors = metric("numbers.errors", Counter, "{read}", "Reads of the table of node numbers that failed.")
)

// Of sources of tickets.
var (
	stock          = metric("blocks.stock", Gauge, "{id}", "Ids in the buffer.")
	stockLasts     = metric("blocks.lasts", Gauge, "s", "How long the buffer lasts at the present rate; without samples when nothing is taken.")
	refills        = metric("blocks.refills", Counter, "{block}", "Blocks that were allocated.")
	refillFailures = metric("blocks.failures", Gauge, "{block}", "Allocations of blocks that failed since the last one that did not.")
	serverState    = metric("server.state", Gauge, "{server}", "1 for the state that a ticket server is in: half-open, closed, open, quarantined; closed is in use.", "server", "state")
	serverUsed     = metric("server.used", Gauge, "1", "The part of a ticket server's ids that are used.", "server")
	serverDraws    = metric("server.draws", Counter, "{draw}", "Statements to a ticket server that succeeded.", "server")
	serverErrors   = metric("server.errors", Counter, "{draw}", "Statements to a ticket server that failed, by class.", "server", "class")
)

// Of plugins.
var fillErrors = metric("fill.errors", Counter, "{statement}", "Creates that failed because their rows could not be given keys, by model.", "model")
