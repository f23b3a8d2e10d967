package kopf

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// minGarbage is the garbage in bytes that a program of [Main] accumulates before a collection. By default, Go collects
	// when the garbage equals the memory in use, and is at least 4 MB. An operator with few objects would collect after
	// every forty objects.
	minGarbage = 10 << 20

	// minHeap is the heap size of Go's first collection at a percentage of 100. It is proportional to the percentage.
	minHeap = 4 << 20

	// The minimum percentage, and the minimum change of the percentage, because each change briefly stops the program.
	minGarbagePercent, garbageSteps = 20, 5

	// startCollections is the number of garbage collections before the percentage is first adjusted. An idle operator
	// never reaches this number, and stays small.
	startCollections = 3
)

// adjustCollection makes the garbage collector wait until the garbage reaches three quarters of the live heap, and at
// least [minGarbage]. Go's default, the size of the live heap and the stacks, would double the memory of ten thousand
// daemons. A GOGC in the environment prevails. A GOMEMLIMIT limits the memory as usual.
func adjustCollection() {
	if os.Getenv("GOGC") == "" {
		afterCollection(100, startCollections)
	}
}

// afterCollection adjusts the collector's percentage after each collection, except for the first ones. It uses a
// finalizer, which the runtime calls after the collection of the finalizer's object.
func afterCollection(percent, skipped int) {
	type sentinel struct{ _ *byte } // with a pointer, so that it is not allocated together with others
	runtime.SetFinalizer(new(sentinel), func(*sentinel) {
		if skipped > 0 {
			afterCollection(percent, skipped-1)
			return
		}
		next := garbagePercent(inUse())
		if next != percent {
			debug.SetGCPercent(next)
		}
		afterCollection(next, 0)
	})
}

// garbagePercent returns the GOGC percentage for a live heap and the other memory that the collector scans, such as
// stacks.
func garbagePercent(heap, scanned uint64) int {
	garbage := max(minGarbage, heap*3/4)
	percent := min(garbage*100/max(1, heap+scanned), (heap+garbage)*100/minHeap)
	return int(max(minGarbagePercent, percent/garbageSteps*garbageSteps))
}

// inUse returns the sizes of the live heap and of the other scanned memory at the last collection, in bytes.
func inUse() (heap, scanned uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	value := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	return value(0), value(1) + value(2)
}
