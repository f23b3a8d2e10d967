package index

import (
	"fmt"
	"runtime"
	"testing"
)

var sizes = []int{1_000, 10_000, 100_000}

type name struct{ namespace, name string }

// populated returns an index of objects, each under its own key.
func populated(objects []Object, keys []name) *Index[name, bool] {
	x := New[name, bool]()
	for i, o := range objects {
		x.Set(o, map[name]bool{keys[i]: true})
	}
	return x
}

func given(n int) ([]Object, []name) {
	objects, keys := make([]Object, n), make([]name, n)
	for i := range n {
		objects[i] = pod(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		keys[i] = name{"default", fmt.Sprintf("pod-%d", i)}
	}
	return objects, keys
}

// BenchmarkIndex_Populate fills an empty index. Its metrics are per object.
func BenchmarkIndex_Populate(b *testing.B) {
	for _, n := range sizes {
		objects, keys := given(n)
		b.Run(fmt.Sprintf("own-keys/%d", n), func(b *testing.B) {
			before := heap()
			var x *Index[name, bool]
			for b.Loop() {
				x = populated(objects, keys)
			}
			b.ReportMetric(float64(heap()-before)/float64(n), "kept-B/object")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
			runtime.KeepAlive(x)
		})
		b.Run(fmt.Sprintf("one-key/%d", n), func(b *testing.B) {
			before := heap()
			var x *Index[string, string]
			for b.Loop() {
				x = New[string, string]()
				for _, o := range objects {
					x.Set(o, map[string]string{"": o.ID})
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(n), "kept-B/object")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
			runtime.KeepAlive(x)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkIndex_Get(b *testing.B) {
	for _, n := range sizes {
		objects, keys := given(n)
		x := populated(objects, keys)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if len(x.Get(keys[i%n])) != 1 {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkIndex_UpdateInPlace(b *testing.B) {
	for _, n := range sizes {
		objects, keys := given(n)
		x := populated(objects, keys)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				x.Set(objects[i%n], map[name]bool{keys[i%n]: i%2 == 0})
			}
		})
	}
}

// BenchmarkIndex_UpdateUnderReaders measures writing while another goroutine keeps reading the whole
// index, which is the worst case.
func BenchmarkIndex_UpdateUnderReaders(b *testing.B) {
	for _, n := range sizes {
		objects, keys := given(n)
		x := populated(objects, keys)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						x.Pairs()
					}
				}
			}()
			for i := 0; b.Loop(); i++ {
				x.Set(objects[i%n], map[name]bool{keys[i%n]: i%2 == 0})
			}
			close(stop)
			<-stopped
		})
	}
}

func BenchmarkIndex_Pairs(b *testing.B) {
	for _, n := range sizes {
		objects, keys := given(n)
		x := populated(objects, keys)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if len(x.Pairs()) != n {
					b.Fatal("incomplete")
				}
			}
		})
	}
}
