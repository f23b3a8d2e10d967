package inspector

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(strangerVariable); address != "" {
		strange(address)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
