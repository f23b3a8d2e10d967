package inspector

import (
	"os"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(strangerVariable); address != "" {
		strange(address)
		os.Exit(0)
	}
	testmain.Run(m, os.Exit)
}
