package memory

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestWarnPruned_AdvisesWhatCanBeDone(t *testing.T) {
	for group, want := range map[string]string{
		"":                        "keep the value in an annotation",
		"apps":                    "keep the value in an annotation",
		"networking.k8s.io":       "keep the value in an annotation",
		"kopf.dev":                "Declare it in the CRD",
		"snapshot.storage.k8s.io": "Declare it in the CRD",
	} {
		p := patch.NewPatch()
		p.Set(object.Path{"status", "create"}, "made")
		var log bytes.Buffer
		res := &resources.Resource{Group: group, Version: "v1", Plural: "things"}
		new(Memory).WarnPruned(slog.New(slog.NewTextHandler(&log, nil)), res, p, &object.Object{Raw: []byte(`{"status":{}}`)})
		if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "API server dropped status.create") {
			t.Errorf("%q: got %s", group, log.String())
		}
		if built := strings.HasPrefix(want, "keep"); built && strings.Contains(log.String(), "CRD") {
			t.Errorf("%q: there is no CRD: %s", group, log.String())
		}
	}
}
