package ticket_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind, neither one that buys nor a connection's.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
