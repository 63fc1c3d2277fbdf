package report_test

import (
	"os"

	"github.com/snowkey-go/snowkey/compare/result"
)

// sample is an invented document in the shape of real ones: SQLite, a private MariaDB whose cache is smaller than the tables, and a PostgreSQL of
// somebody else; eleven strategies. Three are skipped where they cannot work, one fails its checks on each database and has no figures, and figures
// that could not be taken say why.
func sample() result.Document {
	file, err := os.Open("../result/testdata/sample.json")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	r, err := result.Load(file)
	if err != nil {
		panic(err)
	}
	return r
}
