package kopftest

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestReports_SecretsAreRedacted(t *testing.T) {
	operator := &Operator{settings: new(atomic.Pointer[kopf.Settings])}
	operator.settings.Store(&kopf.Settings{Redaction: kopf.RedactionSettings{Fields: []kopf.Path{"spec.password"}}})
	cluster := &Cluster{estate: &estate{operators: []*Operator{operator}}}
	for _, tt := range []struct{ tree, want map[string]any }{
		{
			map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "YQ=="}, "type": "Opaque"},
			map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "[redacted]"}, "type": "Opaque"},
		},
		{
			map[string]any{"kind": "User", "spec": map[string]any{"password": "x", "name": "y"}, "data": "kept"},
			map[string]any{"kind": "User", "spec": map[string]any{"password": "[redacted]", "name": "y"}, "data": "kept"},
		},
	} {
		if diff := cmp.Diff(tt.want, cluster.withoutSecrets(tt.tree)); diff != "" {
			t.Error(diff)
		}
	}
}
