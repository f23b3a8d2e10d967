package logging_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf/logging"
)

func TestNewHandler_FollowsItsOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options *logging.Options
		want    string
	}{
		"defaults": {nil, "[INFO    ] shown"},
		"level":    {&logging.Options{Level: slog.LevelDebug, Format: "plain"}, "hidden\nshown\n"},
		"json":     {&logging.Options{Format: "json"}, `"message":"shown"`},
	} {
		var out strings.Builder
		logger := slog.New(logging.NewHandler(&out, test.options))
		logger.Debug("hidden")
		logger.Info("shown")
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: want %q, got\n%s", name, test.want, out.String())
		}
	}
}

func TestNewHandler_PanicsAtUnknownFormat(t *testing.T) {
	defer func() {
		if message := fmt.Sprint(recover()); !strings.Contains(message, `unknown format "jsn"; want "full", "plain" or "json"`) {
			t.Errorf("got %s", message)
		}
	}()
	logging.NewHandler(io.Discard, &logging.Options{Format: "jsn"})
}
