package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// typicalPod is about 5 KB, of which managedFields are more than a third.
func typicalPod(tb testing.TB) []byte {
	tb.Helper()
	container := map[string]any{
		"name": "main", "image": "registry.example.com/team/service:1.2.3", "imagePullPolicy": "IfNotPresent",
		"ports":     []any{map[string]any{"containerPort": 8080, "protocol": "TCP", "name": "http"}},
		"resources": map[string]any{"limits": map[string]any{"cpu": "500m", "memory": "256Mi"}, "requests": map[string]any{"cpu": "100m", "memory": "128Mi"}},
		"env": []any{
			map[string]any{"name": "POD_NAME", "valueFrom": map[string]any{"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "metadata.name"}}},
			map[string]any{"name": "LOG_LEVEL", "value": "info"},
		},
		"volumeMounts":           []any{map[string]any{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}},
		"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	}
	fields := make(map[string]any)
	for i := range 60 {
		fields[fmt.Sprintf("f:field-%d", i)] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}}
	}
	var conditions []any
	for _, kind := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastProbeTime": nil, "lastTransitionTime": "2024-05-06T07:08:09Z"})
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": "service-6d4cf56db6-x7k2p", "generateName": "service-6d4cf56db6-", "namespace": "production",
			"uid": "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "resourceVersion": "123456", "creationTimestamp": "2024-05-06T07:08:09Z",
			"labels":          map[string]any{"app": "service", "pod-template-hash": "6d4cf56db6", "tier": "backend"},
			"annotations":     map[string]any{"prometheus.io/scrape": "true", "kopf.zalando.org/last-handled-configuration": `{"spec":{"containers":[{"name":"main"}]}}`},
			"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "service-6d4cf56db6", "uid": "u", "controller": true, "blockOwnerDeletion": true}},
			"managedFields":   []any{map[string]any{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields}},
		},
		"spec":   map[string]any{"containers": []any{container}, "nodeName": "node-1", "restartPolicy": "Always", "serviceAccountName": "default"},
		"status": map[string]any{"phase": "Running", "conditions": conditions, "podIP": "10.0.0.1", "hostIP": "10.0.0.2", "qosClass": "Burstable"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func BenchmarkParse(b *testing.B) {
	data := typicalPod(b)
	frame := append(append([]byte(`{"type":"MODIFIED","object":`), data...), '}', '\n')
	opts := ParseOptions{APIVersion: "v1", Kind: "Pod"}
	for name, read := range map[string]func() any{
		"wire": func() any {
			f, err := ParseFrame(frame, opts)
			if err != nil {
				b.Fatal(err)
			}
			return f.Object
		},
		"wire and tree": func() any {
			f, err := ParseFrame(frame, opts)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Object.Tree(); err != nil {
				b.Fatal(err)
			}
			return f.Object
		},
		"unstructured": func() any {
			u := new(unstructured.Unstructured)
			if err := u.UnmarshalJSON(bytes.Clone(data)); err != nil {
				b.Fatal(err)
			}
			return u
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
		b.Run(name+", kept", func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(heapOf(read), "B/object")
			}
		})
	}
}

// heapOf returns the memory of a retained object, in bytes.
func heapOf(read func() any) float64 {
	const objects = 500
	kept := make([]any, objects)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = read()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc-before.HeapAlloc) / objects
}
