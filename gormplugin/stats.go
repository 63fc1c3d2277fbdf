package gormplugin

import (
	"maps"
	"sync"

	"gorm.io/gorm"
)

// Stats are the counters of a plugin. They only grow. Those of its generator are of [Plugin.Keeper].
type Stats struct {
	// FillErrors are the statements that failed because their rows could not be given keys, by model, or by table where there is no model. Those
	// of models beyond the first hundred are under [OtherModels].
	FillErrors map[string]int64
}

// OtherModels stands in [Stats] for the models that are not counted by themselves.
const OtherModels = "other"

// mostModels bounds what tables with names of their own, such as one a customer, cost.
const mostModels = 100

// failures counts statements that failed, by model.
type failures struct {
	mu sync.Mutex
	of map[string]int64 // guarded by mu
}

func (f *failures) add(stmt *gorm.Statement) {
	name := stmt.Table
	if stmt.Schema != nil {
		name = stmt.Schema.Name
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]int64{}
	}
	if _, counted := f.of[name]; !counted && len(f.of) >= mostModels {
		name = OtherModels
	}
	f.of[name]++
}

// Stats returns the counters. It may be called at any time.
func (p *Plugin) Stats() Stats {
	p.failures.mu.Lock()
	defer p.failures.mu.Unlock()
	return Stats{FillErrors: maps.Clone(p.failures.of)}
}
