package mapping_test

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
)

func TestSorter(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	random := rand.New(rand.NewPCG(3, 4))
	for _, of := range []struct{ rows, most, files int }{{0, 5, 0}, {1, 5, 0}, {5, 5, 1}, {17, 5, 3}, {5000, 100, 50}, {5000, 1 << 19, 0}} {
		firsts, ids := make([]int64, of.rows), make([]int64, of.rows)
		want := make([][2]int64, of.rows)
		for i := range ids {
			firsts[i], ids[i] = random.Int64N(500)-100, int64(i)-50
			want[i] = [2]int64{firsts[i], ids[i]}
		}
		slices.SortFunc(want, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		got, files, err := mapping.Sorted(t.Context(), of.most, firsts, ids)
		if err != nil || files != of.files || !slices.Equal(got, want) {
			t.Errorf("%d rows, %d at a time: got %d in %d files, %v; want all in order, in %d files", of.rows, of.most, len(got), files, err, of.files)
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
