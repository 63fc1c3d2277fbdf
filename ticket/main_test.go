package ticket_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind, neither one that allocates nor a connection's. Parallel tests mostly wait, for servers and other processes, so that more of them run at once
// than there are processors, unless -parallel says otherwise.
func TestMain(m *testing.M) {
	parallel := "6"
	if !flag.Parsed() {
		flag.Parse()
	}
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			parallel = f.Value.String()
		}
	})
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
