package engine

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestIntents_ReplayNeedsAdmissionHandlers(t *testing.T) {
	i := &intents{deps: bareDeps(t, &handlers.Registry{}, slog.New(slog.DiscardHandler))}
	if reply := i.handle(t.Context(), inspect.Intent{Kind: inspect.IntentReplay, Value: "1"}); reply.OK || !strings.Contains(reply.Error, "no admission handlers") {
		t.Errorf("%+v", reply)
	}
}
