package tui

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
)

// BenchmarkKey measures a key press on the list of objects, until the frame is drawn.
func BenchmarkKey(b *testing.B) {
	for _, n := range []int{12, 10_000} {
		for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 50}} {
			b.Run(fmt.Sprintf("%d-objects/%dx%d", n, size[0], size[1]), func(b *testing.B) {
				u := startWith(b, manyObjects(noon, n), size[0], size[1], Options{})
				u.setProfile(colorprofile.TrueColor)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					key := "down"
					if i%40 > 20 {
						key = "up"
					}
					u.press(key)
					u.screen()
				}
			})
		}
	}
}

// BenchmarkChange measures a change of ten objects of 10,000, until the frame is drawn. The
// first part runs in the background, the second is what keys may have to wait for.
func BenchmarkChange(b *testing.B) {
	for _, filter := range []string{"", "claim-0999"} {
		u := startWith(b, manyObjects(noon, 10_000), 120, 40, Options{})
		u.setProfile(colorprofile.TrueColor)
		if filter != "" {
			u.press("/").write(filter)
		}
		s := u.source.State()
		b.Run("background/filter="+filter, func(b *testing.B) {
			b.ReportAllocs()
			w := u.app.screen.State
			for i := 0; b.Loop(); i++ {
				w = explain.NewState(changed(s, i), w)
			}
		})
		b.Run("screen/filter="+filter, func(b *testing.B) {
			w := explain.NewState(changed(s, 1), u.app.screen.State)
			b.ReportAllocs()
			for b.Loop() {
				u.send(stateMsg{w})
				u.screen()
			}
		})
	}
}

// BenchmarkSlowestKey visits the pages with 10,000 objects, and reports the time of
// the key whose frame takes longest. It should be far below 16 ms.
func BenchmarkSlowestKey(b *testing.B) {
	slowestKey(b, manyObjects(noon, 10_000),
		"down", "pgdown", "G", "g", "n", "n", "w", "esc", "2", "j", "enter", "G", "esc", "1", "/", "9", "9", "esc", "s", "s", "s", "u", "u", "!", "esc")
}

// BenchmarkSlowestKeyOfChildren visits the children of several of 5,000 parents: the goal is 16 ms.
func BenchmarkSlowestKeyOfChildren(b *testing.B) {
	slowestKey(b, multiplied(withChildren(noon), 5000),
		"down", "o", "down", "down", "enter", "esc", "G", "esc", "G", "o", "down", "esc", "g", "pgdown", "o", "tab", "shift+tab", "esc", "g")
}

func slowestKey(b *testing.B, s *runner.State, keys ...string) {
	u := startWith(b, s, 200, 50, Options{})
	u.setProfile(colorprofile.TrueColor)
	best := make([]time.Duration, len(keys)) // of all rounds: the machine does other things as well
	for b.Loop() {
		for i, key := range keys {
			start := time.Now()
			u.press(key)
			u.screen()
			if took := time.Since(start); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	b.ReportMetric(float64(slices.Max(best))/float64(time.Millisecond), "ms/slowest-key")
}

func TestMemory_TenThousandObjects(t *testing.T) {
	before := heap()
	s := manyObjects(noon, 10_000)
	data := heap() - before
	u := startWith(t, s, 200, 50, Options{})
	for i := range 50 {
		u.send(stateMsg{explain.NewState(changed(u.source.State(), i), u.app.screen.State)})
		u.screen()
	}
	total := heap() - before
	runtime.KeepAlive(s)
	t.Logf("%d MB, of which the data themselves are %d MB", total>>20, data>>20)
	if total > 150<<20 {
		t.Errorf("takes %d MB", total>>20)
	}
	u.send(tea.WindowSizeMsg{Width: 80, Height: 24})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
