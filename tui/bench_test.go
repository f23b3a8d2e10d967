package tui

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// BenchmarkKey is a key press on the list of objects, until its frame is ready.
func BenchmarkKey(b *testing.B) {
	for _, n := range []int{12, 10_000} {
		for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 50}} {
			b.Run(fmt.Sprintf("%d-objects/%dx%d", n, size[0], size[1]), func(b *testing.B) {
				r := sitWith(b, many(noon, n), size[0], size[1], Options{})
				r.paint(colorprofile.TrueColor)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					key := "down"
					if i%40 > 20 {
						key = "up"
					}
					r.press(key)
					r.screen()
				}
			})
		}
	}
}

// BenchmarkChange is a change of ten objects of 10,000, until its frame is ready. The first
// part runs beside the screen, the second is what keys may have to wait for.
func BenchmarkChange(b *testing.B) {
	for _, filter := range []string{"", "claim-0999"} {
		r := sitWith(b, many(noon, 10_000), 120, 40, Options{})
		r.paint(colorprofile.TrueColor)
		if filter != "" {
			r.press("/").write(filter)
		}
		s := r.source.State()
		b.Run("beside/filter="+filter, func(b *testing.B) {
			b.ReportAllocs()
			w := r.root.common.world
			for i := 0; b.Loop(); i++ {
				w = newWorld(changed(s, i), w)
			}
		})
		b.Run("on screen/filter="+filter, func(b *testing.B) {
			w := newWorld(changed(s, 1), r.root.common.world)
			b.ReportAllocs()
			for b.Loop() {
				r.tell(worldMsg{w})
				r.screen()
			}
		})
	}
}

// BenchmarkSlowestKey walks through the views with 10,000 objects. It tells the time of the
// key that takes longest until its frame is ready: a person would notice 16 ms.
func BenchmarkSlowestKey(b *testing.B) {
	keys := []string{"down", "pgdown", "G", "g", "n", "n", "w", "esc", "2", "j", "enter", "G", "esc", "1", "/", "9", "9", "esc", "s", "u", "!", "esc"}
	r := sitWith(b, many(noon, 10_000), 200, 50, Options{})
	r.paint(colorprofile.TrueColor)
	best := make([]time.Duration, len(keys)) // of all walks: the machine has other things to do as well
	for b.Loop() {
		for i, key := range keys {
			start := time.Now()
			r.press(key)
			r.screen()
			if took := time.Since(start); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	b.ReportMetric(float64(slices.Max(best))/float64(time.Millisecond), "ms/slowest-key")
}

func TestTenThousandObjectsTakeLittleMemory(t *testing.T) {
	before := heap()
	s := many(noon, 10_000)
	data := heap() - before
	r := sitWith(t, s, 200, 50, Options{})
	for i := range 50 {
		r.tell(worldMsg{newWorld(changed(r.source.State(), i), r.root.common.world)})
		r.screen()
	}
	total := heap() - before
	runtime.KeepAlive(s)
	t.Logf("%d MB, of which the data themselves are %d MB", total>>20, data>>20)
	if total > 150<<20 {
		t.Errorf("takes %d MB", total>>20)
	}
	r.tell(tea.WindowSizeMsg{Width: 80, Height: 24})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
