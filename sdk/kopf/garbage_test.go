package kopf

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGarbagePercent_AsMuchAsTheHeapButAtLeastTheMinimum(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		heap, besides uint64
		want          int
	}{
		{0, 0, 250},
		{2 * mb, 0, 300},
		{3 * mb, 1 * mb, 250},
		{10 * mb, 0, 100},
		{1000 * mb, 0, 75},
		{40 * mb, 40 * mb, 35},
		{mb, 1000 * mb, minGarbagePercent},
	} {
		if got := garbagePercent(c.heap, c.besides); got != c.want {
			t.Errorf("%d bytes of heap, %d besides: %d %%, want %d", c.heap, c.besides, got, c.want)
		}
	}
}

func TestInUse_KnowsTheMetrics(t *testing.T) {
	runtime.GC()
	if heap, besides := inUse(); heap == 0 || besides == 0 {
		t.Errorf("%d bytes of heap, %d besides", heap, besides)
	}
}

func TestReturnMemory_LeavesLittleBeyondTheLiveHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // otherwise, a collection may return the garbage before returnMemory does
	garbage := make([][]byte, 50)
	for i := range garbage {
		garbage[i] = make([]byte, 1<<20)
	}
	runtime.KeepAlive(garbage)
	if live, returnable := inHeap(); returnable < minGarbage {
		t.Fatalf("%d bytes of heap, %d beyond it", live, returnable)
	}
	returnMemory()
	if live, returnable := inHeap(); returnable >= minGarbage {
		t.Errorf("%d bytes of heap, %d beyond it", live, returnable)
	}
}
