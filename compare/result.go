package compare

import (
	"time"

	"github.com/aclements/go-moremath/stats"
)

// Result is the outcome of one run, as it is written in JSON. Times are in UTC.
type Result struct {
	Schema   int              `json:"schema"` // of this document; 1
	Made     time.Time        `json:"made"`
	Machine  Machine          `json:"machine"`
	Rows     int              `json:"rows"`  // inserted in each table
	Batch    int              `json:"batch"` // rows an INSERT
	Rounds   int              `json:"rounds"`
	Database []DatabaseResult `json:"databases"`
}

// Machine is where the program ran; a database server may run elsewhere.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// Setting is a setting of the database that the figures depend on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// DatabaseResult is what was measured on one database.
type DatabaseResult struct {
	DSN        string           `json:"dsn"` // without a password
	Kind       string           `json:"kind"`
	Version    string           `json:"version"`
	Settings   []Setting        `json:"settings"`
	Strategies []StrategyResult `json:"strategies"`
}

// StrategyResult is what was measured of one strategy on one database.
type StrategyResult struct {
	Name  string  `json:"name"`
	About string  `json:"about"`
	Limit float64 `json:"limit_keys_per_second,omitempty"` // of one process, by the layout; absent: none but its speed

	RowsPerSecond Samples `json:"rows_per_second"`
	GenerationNS  Samples `json:"generation_ns_per_key"`

	TableBytes int64  `json:"table_bytes"`
	IndexBytes int64  `json:"index_bytes"`
	NoSize     string `json:"no_size,omitempty"` // why the sizes are 0
}

// Samples are the figures of the rounds, in the order they were taken; none where there is nothing to measure.
type Samples []float64

// Median returns the median, 0 without samples.
func (s Samples) Median() float64 {
	if len(s) == 0 {
		return 0
	}
	return stats.Sample{Xs: s}.Quantile(0.5)
}

// RatioTo returns the median of the ratios of these samples to others taken in the same rounds, 0 without samples.
func (s Samples) RatioTo(others Samples) float64 {
	ratios := make(Samples, min(len(s), len(others)))
	for i := range ratios {
		ratios[i] = s[i] / others[i]
	}
	return ratios.Median()
}
