package queue

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func BenchmarkThroughput(b *testing.B) {
	for _, objects := range []int{1, 5000} {
		b.Run(strconv.Itoa(objects)+" objects", func(b *testing.B) {
			events := make([]watch.Event, objects)
			for i := range events {
				events[i] = event("MODIFIED", strconv.Itoa(i), "1")
			}
			var seen sync.WaitGroup
			q := New(b.Context(), Options{
				KeepEvents: func(string) bool { return true },
				Process: func(_ context.Context, batch *Batch) *Next {
					seen.Add(-len(batch.Events))
					return nil
				},
			})
			b.ReportAllocs()
			for i := range b.N {
				seen.Add(1)
				q.Put("pods", events[i%objects])
			}
			seen.Wait()
			if err := q.Stop(); err != nil {
				b.Error(err)
			}
		})
	}
}
