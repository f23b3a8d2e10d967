package tui

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
)

func TestFeed_LimitsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(demo(noon))
		ctx, cancel := context.WithCancel(t.Context())
		var got []uint64
		var feeding sync.WaitGroup
		feeding.Go(func() {
			feed(ctx, source, explain.NewState(source.State(), nil), func(msg tea.Msg) {
				got = append(got, msg.(stateMsg).state.Revision)
			})
		})
		for range 1000 { // a thousand changes in a second
			s := *source.State()
			s.Revision++
			source.set(&s)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		cancel()
		feeding.Wait()
		if len(got) < 10 || len(got) > 20 {
			t.Errorf("was fed %d times", len(got))
		}
		if last := got[len(got)-1]; last != source.State().Revision {
			t.Errorf("has last seen %d of %d", last, source.State().Revision)
		}
	})
}

func TestFeed_ChangeAfterIdleTimeIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(demo(noon))
		var delay time.Duration
		var since time.Time
		var feeding sync.WaitGroup
		feeding.Go(func() {
			feed(t.Context(), source, explain.NewState(source.State(), nil), func(tea.Msg) { delay = time.Since(since) })
		})
		time.Sleep(time.Second)
		s := *source.State()
		s.Revision++
		since = time.Now()
		source.set(&s)
		synctest.Wait()
		close(source.changes) // ends the feeding
		feeding.Wait()
		if delay != 0 {
			t.Errorf("was shown after %v", delay)
		}
	})
}
