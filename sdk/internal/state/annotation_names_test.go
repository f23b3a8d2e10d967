package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestKeyV2_CountsCharactersNotBytes(t *testing.T) {
	key := strings.Repeat("é", maxName)
	if got := shortenV2("kopf.zalando.org", key); got != "kopf.zalando.org/"+key {
		t.Error(got)
	}
	if got := shortenV2("kopf.zalando.org", key+"é"); len([]rune(got)) != len("kopf.zalando.org/")+maxName {
		t.Error(got)
	}
}

func TestKeyV1_LongPrefixStillGivesName(t *testing.T) {
	prefix := strings.Repeat("p", 200)
	if got := shortenV1(prefix, "short"); !strings.HasPrefix(got, prefix+"/-") {
		t.Error(got)
	}
}

func TestMarkKey_OnlyReplicaSetsOfDeployments(t *testing.T) {
	of := func(kind any, owners any) map[string]any {
		return map[string]any{"kind": kind, "metadata": map[string]any{"ownerReferences": owners}}
	}
	deployment := map[string]any{"kind": "Deployment"}
	for _, c := range []struct {
		object map[string]any
		want   string
	}{
		{of("ReplicaSet", []any{deployment}), "fn-ofDRS"},
		{of("ReplicaSet", []any{map[string]any{"kind": "Other"}, deployment}), "fn-ofDRS"},
		{of("ReplicaSet", []any{"odd", nil}), "fn"},
		{of("ReplicaSet", nil), "fn"},
		{of("Pod", []any{deployment}), "fn"},
		{nil, "fn"},
	} {
		if got := markKey("fn", c.object); got != c.want {
			t.Errorf("%v: %s", c.object, got)
		}
	}
}

func TestStorePrefixMarker_OnceAndNotForKnownPrefixes(t *testing.T) {
	marked := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"my.example.com/kopf-managed": "yes"}}}
	for _, c := range []struct {
		prefix string
		object map[string]any
		want   []string
	}{
		{"my.example.com", nil, []string{"my.example.com/kopf-managed"}},
		{"my.example.com", marked, nil},
		{"kopf.zalando.org", nil, nil},
		{"kopf.dev", nil, nil},
		{"", nil, nil},
	} {
		p := patch.NewPatch()
		storePrefixMarker(c.prefix, c.object, p)
		storePrefixMarker(c.prefix, c.object, p)
		if got := object.SortedKeys(object.Annotations(p.Tree())); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.prefix, got)
		}
	}
	p := patch.NewPatch()
	p.Remove([]string{"metadata", "annotations", "my.example.com/kopf-managed"})
	storePrefixMarker("my.example.com", nil, p)
	if diff := cmp.Diff(map[string]any{"my.example.com/kopf-managed": nil}, object.Annotations(p.Tree())); diff != "" {
		t.Error("what the patch does already is overwritten:", diff)
	}
}

func BenchmarkAnnotationKeys(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		annotationKeys("kopf.zalando.org", true, "create_fn/spec.field", nil)
	}
}

func BenchmarkAnnotationKeys_WithHashes(b *testing.B) {
	key := strings.Repeat("sub/", 20)
	b.ReportAllocs()
	for b.Loop() {
		annotationKeys("kopf.zalando.org", true, key, nil)
	}
}
