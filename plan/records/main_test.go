package records

import (
	"testing"

	"github.com/kopf-dev/kopf/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }
