package inspector

import (
	"fmt"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const benchObjects = 10_000

func fullHub() *Hub {
	h := NewHub(HubOptions{Interval: time.Nanosecond})
	for n := range benchObjects {
		h.PutObject(object(n, "1"))
	}
	return h
}

// BenchmarkHub_PutObject measures a change on the operator's side, with readers that lag behind.
func BenchmarkHub_PutObject(b *testing.B) {
	for _, readers := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			h := fullHub()
			for range readers {
				s := h.subscribe()
				defer s.close()
				s.pending()
			}
			o := object(1, "2")
			b.ReportAllocs()
			for b.Loop() {
				h.PutObject(o)
			}
		})
	}
}

// BenchmarkHub_Batch measures 20 changes among 10,000 objects on the reader's side.
func BenchmarkHub_Batch(b *testing.B) {
	h := fullHub()
	s := h.subscribe()
	defer s.close()
	var replica inspect.Replica
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for range 20 {
			h.PutObject(object(n%benchObjects, "2"))
			n++
		}
		for _, m := range s.pending() {
			replica.Apply(m)
		}
		if got := replica.Snapshot(); len(got.Objects) != benchObjects {
			b.Fatal(len(got.Objects))
		}
	}
}

// BenchmarkHub_Snapshot measures how long a new reader of 10,000 objects blocks the operator.
func BenchmarkHub_Snapshot(b *testing.B) {
	h := fullHub()
	b.ReportAllocs()
	for b.Loop() {
		h.mu.Lock()
		c := h.batchOfAll()
		h.mu.Unlock()
		if len(c.objects) != benchObjects {
			b.Fatal(len(c.objects))
		}
	}
}
