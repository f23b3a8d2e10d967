package intents

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestIntents_ReplayNeedsAdmissionHandlers(t *testing.T) {
	i := New(enginetest.BareDeps(t, &handlers.Registry{}, slog.New(slog.DiscardHandler)), nil, nil)
	if reply := i.Handle(t.Context(), inspect.Intent{Kind: inspect.IntentReplay, Value: "1"}); reply.OK || !strings.Contains(reply.Error, "no admission handlers") {
		t.Errorf("%+v", reply)
	}
}
