package result_test

import (
	"runtime"
	"testing"

	"github.com/snowkey-go/snowkey/compare/result"
)

func TestThisMachine(t *testing.T) {
	m := result.ThisMachine()
	if m.OS != runtime.GOOS || m.Arch != runtime.GOARCH || m.CPUs < 1 || m.Go == "" || m.Memory < 0 {
		t.Errorf("got %+v", m)
	}
	if m.OS == "linux" && m.Memory == 0 {
		t.Error("Linux tells the memory, and it is not there")
	}
}

func TestCPUName(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"processor\t: 0\nvendor_id\t: X\nmodel name\t: Some  CPU @ 2.80GHz\n\nprocessor\t: 1\nmodel name\t: Other\n", "Some CPU @ 2.80GHz"},
		{"processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n", ""},
		{"", ""},
	} {
		if got := result.CPUName([]byte(c.file)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.file, got, c.want)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		file string
		want int64
	}{
		{"MemTotal:       16384 kB\nMemFree:        1 kB\n", 16 << 20},
		{"MemFree: 1 kB\n", 0},
		{"MemTotal: 16384 MB\n", 0},
		{"MemTotal: -1 kB\n", 0},
		{"MemTotal: 9223372036854775807 kB\n", 0},
		{"MemTotal: many kB\n", 0},
		{"", 0},
	} {
		if got := result.MemoryOf([]byte(c.file)); got != c.want {
			t.Errorf("%q: got %d, want %d", c.file, got, c.want)
		}
	}
}
