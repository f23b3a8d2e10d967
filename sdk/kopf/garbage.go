package kopf

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// minGarbage is the garbage in bytes that a program of [Main] accumulates before a collection. By default, Go collects
	// when the garbage equals the memory in use, and is at least 4 MB. An operator with few objects would start a
	// collection after every forty handled objects.
	minGarbage = 10 << 20

	// minHeap is the heap size of Go's first collection at a percentage of 100. It is proportional to the percentage.
	minHeap = 4 << 20

	// The minimum percentage, and the minimum change of the percentage, because each change briefly stops the program.
	minGarbagePercent, garbageSteps = 20, 5

	// startCollections is the number of garbage collections before the percentage is first adjusted. An idle operator
	// never reaches this number, and stays small.
	startCollections = 3

	// restAfter is how long no garbage must have been collected until the program returns memory to the system. A start
	// leaves much garbage, and no collection follows for minutes if nothing happens.
	restAfter = 5 * time.Second
)

// adjustCollection makes the garbage collector wait until the garbage reaches three quarters of the live heap, and at
// least [minGarbage]. Go's default, the size of the live heap and the stacks, would double the memory of ten thousand
// daemons. When the program rests, it returns memory to the system. A GOGC in the environment prevails. A GOMEMLIMIT limits
// the memory as usual.
func adjustCollection() {
	if os.Getenv("GOGC") == "" {
		afterCollection(100, startCollections, time.AfterFunc(restAfter, returnMemory))
	}
}

// returnMemory collects the garbage and returns all free memory to the system. It does nothing if the garbage and the free
// memory together are less than [minGarbage] or a quarter of the live heap, because a collection costs CPU time in
// proportion to the live heap.
func returnMemory() {
	if live, returnable := inHeap(); returnable >= max(minGarbage, live/4) {
		debug.FreeOSMemory()
	}
}

// afterCollection adjusts the collector's percentage after each collection, except for the first ones, and restarts the timer.
// It uses a finalizer, which the runtime calls after the collection of the finalizer's object.
func afterCollection(percent, skipped int, rest *time.Timer) {
	type sentinel struct{ _ *byte } // with a pointer, so that it is not allocated together with others
	runtime.SetFinalizer(new(sentinel), func(*sentinel) {
		if skipped > 0 {
			afterCollection(percent, skipped-1, rest)
			return
		}
		rest.Reset(restAfter)
		next := garbagePercent(inUse())
		if next != percent {
			debug.SetGCPercent(next)
		}
		afterCollection(next, 0, rest)
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
	v := runtimeMetrics("/gc/heap/live:bytes", "/gc/scan/stack:bytes", "/gc/scan/globals:bytes")
	return v[0], v[1] + v[2]
}

// inHeap returns the size of the live heap at the last collection, and how much memory beyond it, in garbage and in free
// pages, the program has not returned to the system, in bytes.
func inHeap() (live, returnable uint64) {
	v := runtimeMetrics("/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes")
	return v[0], max(v[0], v[1]) - v[0] + v[2]
}

// runtimeMetrics returns the values of metrics of the Go runtime; 0 for metrics that this version of Go lacks.
func runtimeMetrics(names ...string) []uint64 {
	samples, values := make([]metrics.Sample, len(names)), make([]uint64, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for i := range samples {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			values[i] = samples[i].Value.Uint64()
		}
	}
	return values
}
