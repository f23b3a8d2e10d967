package kopftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestReports_SecretsAreRedacted(t *testing.T) {
	cluster := &Cluster{estate: &estate{operators: []*Operator{{redacted: []kopf.Path{"spec.password"}}}}}
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
