package box

import (
	"os"
	"testing"

	"github.com/kopf-dev/kopf/internal/testmain"
)

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 1 && os.Args[1] == hostile {
		tryEverything(os.Args[2])
		return
	}
	testmain.Run(m)
}
