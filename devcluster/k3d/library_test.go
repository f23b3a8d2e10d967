package k3d

import (
	"errors"
	"strings"
	"testing"

	"github.com/k3d-io/k3d/v5/pkg/logger"
)

func TestCall_FatalMessageIsAnError(t *testing.T) {
	var lines []string
	redirectLibrary(func(line string) { lines = append(lines, line) })
	err := call(func() error {
		logger.Log().Infoln("first")
		logger.Log().Fatalf("no %s", "way")
		return nil
	})
	if !errors.Is(err, errFatal) || !strings.HasSuffix(err.Error(), "no way") {
		t.Errorf("the error is %v", err)
	}
	if got := strings.Join(lines, "|"); got != "info: first|fatal: no way" {
		t.Errorf("the log is %q", got)
	}
	if err := call(func() error { return nil }); err != nil {
		t.Errorf("the next call fails: %v", err)
	}
}
