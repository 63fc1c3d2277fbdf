package monitor_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/monitor"
)

// promtool runs promtool, and skips the test where it is missing, unless it is required.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		const missing = "no promtool found: internal/dbtest/install.sh installs the one of Debian's package prometheus"
		for word := range strings.SplitSeq(os.Getenv("SNOWKEY_TEST_REQUIRE"), ",") {
			if strings.TrimSpace(word) == "promtool" {
				t.Fatal("SNOWKEY_TEST_REQUIRE requires promtool, but " + missing)
			}
		}
		t.Skip(missing)
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

// timeline is a monitor, and what was scraped of it before a fault.
type timeline struct {
	t      *testing.T
	of     *monitor.Monitor
	before map[string]float64
}

// watch reads the sources before a fault.
func watch(t *testing.T, sources map[string]any) *timeline {
	t.Helper()
	m, err := monitor.New(sources)
	if err != nil {
		t.Fatal(err)
	}
	return &timeline{t: t, of: m, before: scrape(t, m)}
}

// scrape reads each series once, by its name and labels in Prometheus.
func scrape(t *testing.T, m *monitor.Monitor) map[string]float64 {
	t.Helper()
	series := map[string]float64{}
	for _, s := range m.Read(t.Context()) {
		labels := []string{`instance="here"`}
		for i, value := range s.Labels {
			labels = append(labels, fmt.Sprintf("%s=%q", s.Metric.Labels[i], value))
		}
		name := s.Metric.Prometheus() + "{" + strings.Join(labels, ",") + "}"
		if _, twice := series[name]; twice {
			t.Errorf("there are two samples of %s", name)
		}
		series[name] = s.Value
	}
	return series
}

// fires reads the sources after a fault, and has promtool evaluate the rules over both: fifteen minutes of before and ten of after, one scrape a minute. No
// alert fires before, and these and no others after.
func (l *timeline) fires(alerts ...string) {
	l.t.Helper()
	after := scrape(l.t, l.of)
	type input struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	var inputs []input
	for _, name := range slices.Sorted(maps.Keys(after)) {
		values := "_x15 "
		if value, found := l.before[name]; found {
			values = fmt.Sprintf("%v+0x14 ", value)
		}
		inputs = append(inputs, input{name, values + fmt.Sprintf("%v+0x10", after[name])})
	}
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	type query struct {
		Expr    string   `json:"expr"`
		Time    string   `json:"eval_time"`
		Samples []sample `json:"exp_samples"`
	}
	firing := `max by (alertname) (ALERTS{alertstate="firing"})`
	then := query{firing, "20m", nil}
	for _, name := range alerts {
		then.Samples = append(then.Samples, sample{fmt.Sprintf("{alertname=%q}", name), 1})
	}
	rules, err := filepath.Abs("alerts.yml")
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{ // which is YAML too
		"rule_files": []string{rules}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": inputs, "promql_expr_test": []query{{firing, "14m", nil}, then}}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	path := filepath.Join(l.t.TempDir(), "fault.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		l.t.Fatal(err)
	}
	promtool(l.t, "test", "rules", path)
}

// The rules are valid, and the rules over series that no fault of the tests makes fire their alerts.
func TestRules(t *testing.T) {
	promtool(t, "check", "rules", "alerts.yml")
	promtool(t, "test", "rules", filepath.Join("testdata", "alerts.yml"))
}

// Each alert is fired by a test, and each has a line in the documentation.
func TestEveryAlertIsFired(t *testing.T) {
	var fired strings.Builder
	for _, path := range []string{"fault_test.go", "testdata/alerts.yml"} {
		fired.WriteString(text(t, path))
	}
	page := text(t, "../docs/monitoring.md")
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(text(t, "alerts.yml"), -1) {
		if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(fired.String()) {
			t.Errorf("no test fires %s", m[1])
		}
		if !strings.Contains(page, "| `"+m[1]+"` |") {
			t.Errorf("docs/monitoring.md does not say what to do for %s", m[1])
		}
	}
}

// Rules and dashboard have names of metrics that exist, the dashboard and the documentation have all.
func TestNamesOfMetrics(t *testing.T) {
	known := map[string]bool{}
	page := text(t, "../docs/monitoring.md")
	for _, m := range monitor.Metrics() {
		if known[m.Prometheus()] {
			t.Errorf("there are two metrics %s", m.Prometheus())
		}
		known[m.Prometheus()] = true
		if !strings.Contains(page, "`"+m.Prometheus()+"`") {
			t.Errorf("docs/monitoring.md does not have %s", m.Prometheus())
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text(t, "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	name, shown := regexp.MustCompile(`\bsnowkey_\w+`), map[string]bool{}
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			for _, n := range name.FindAllString(target.Expr, -1) {
				if shown[n] = true; !known[n] {
					t.Errorf("the panel %q shows %s, which is no metric", panel.Title, n)
				}
			}
		}
	}
	for n := range known {
		if !shown[n] {
			t.Errorf("the dashboard does not show %s", n)
		}
	}
	for _, path := range []string{"alerts.yml", "testdata/alerts.yml", "../docs/monitoring.md"} {
		for _, n := range name.FindAllString(text(t, path), -1) {
			if !known[n] && n != "snowkey_nodes" {
				t.Errorf("%s has %s, which is no metric", path, n)
			}
		}
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
