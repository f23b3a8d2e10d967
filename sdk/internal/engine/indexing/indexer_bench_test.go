package indexing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// BenchmarkIndexer indexes objects as the stream does, with a handler that decodes each object. Its metrics are per
// object.
func BenchmarkIndexer(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			events := objects(b, n)
			var x *Indexer
			before := heap()
			for b.Loop() {
				x, _ = indexerOf(b, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
					var pod struct {
						Metadata struct {
							Labels map[string]string `json:"labels"`
						} `json:"metadata"`
					}
					if err := json.Unmarshal(call.Cause.Object.Raw, &pod); err != nil {
						return nil, err
					}
					return map[string]string{pod.Metadata.Labels["app"]: call.Cause.Object.Name}, nil
				}})
				for _, event := range events {
					x.Handle(event)
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(n), "kept-B/object")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
			runtime.KeepAlive(x)
			runtime.KeepAlive(events)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
