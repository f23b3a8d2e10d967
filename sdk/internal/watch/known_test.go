package watch

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestKnownObjects_DeletedObjectKeepsItsIdentity(t *testing.T) {
	for _, uid := range []string{"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9", "short", "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", ""} {
		for _, namespace := range []string{"ns", ""} {
			o := object.Stub("kopf.dev/v1", "KopfExample", namespace, "n", uid, "5")
			key, id := identify(o)
			got := key.deleted(id, examples, "9")
			if got.UID != uid || got.Namespace != namespace || got.Name != "n" || got.ResourceVersion != "9" || got.Kind != "KopfExample" || got.APIVersion != "kopf.dev/v1" {
				t.Errorf("%+v", got)
			}
			if tree, err := got.Tree(); err != nil || tree["kind"] != "KopfExample" {
				t.Error(tree, err)
			}
		}
	}
}

func TestKnownObjects_WithoutUIDDifferByName(t *testing.T) {
	a, _ := identify(object.Stub("v1", "X", "ns", "a", "", ""))
	b, _ := identify(object.Stub("v1", "X", "ns", "b", "", ""))
	if a == b {
		t.Error("equal keys")
	}
}

func BenchmarkKnownObjects_MemoryPerObject(b *testing.B) {
	const objects = 10000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		known := make(knownObjects, objects)
		for i := range objects {
			key, id := identify(object.Stub("v1", "Pod", "namespace-of-it", fmt.Sprintf("some-longer-name-%d", i), fmt.Sprintf("%08x-4e5f-6071-8293-a4b5c6d7e8f9", i), "5"))
			known[key] = knownObject{id, 5}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/objects, "B/object")
		runtime.KeepAlive(known)
	}
}
