package kopf_test

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }
