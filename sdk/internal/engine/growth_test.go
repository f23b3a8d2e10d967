package engine

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// alarmRecorder records alarms.
type alarmRecorder struct{ told []observe.AlarmChanged }

func (*alarmRecorder) Kinds() []observe.Kind { return []observe.Kind{observe.KindAlarmChanged} }

func (r *alarmRecorder) Receive(e observe.Event) { r.told = append(r.told, e.(observe.AlarmChanged)) }

func newGrowth() (*growth, *alarmRecorder, *bytes.Buffer) {
	recorder, log := &alarmRecorder{}, &bytes.Buffer{}
	sink, logger := &observe.Sink{}, slog.New(slog.NewTextHandler(log, nil))
	sink.Subscribe(recorder)
	return &growth{
		deps: &core.Deps{Sink: sink, Logger: logger, Now: time.Now}, memories: &memory.Memories{}, unused: observe.NewUnusedHandlers(sink, &handlers.Registry{}),
		raised: map[inspect.AlarmKind]bool{},
	}, recorder, log
}

func TestGrowth_AlarmAfterAnHour(t *testing.T) {
	for name, test := range map[string]struct {
		at   func(minute int) usage
		want []inspect.AlarmKind
	}{
		"constant":      {func(int) usage { return usage{50 << 20, 100, 10} }, nil},
		"leaks memory":  {func(m int) usage { return usage{int64(50+m) << 20, 100, 10} }, []inspect.AlarmKind{inspect.AlarmMemory}},
		"leaks both":    {func(m int) usage { return usage{int64(50+m) << 20, int64(100 + 9*m), 10} }, []inspect.AlarmKind{inspect.AlarmMemory, inspect.AlarmGoroutines}},
		"little memory": {func(m int) usage { return usage{int64(1<<20 + m<<14), 100, 10} }, nil},
		"more objects":  {func(m int) usage { return usage{int64(50+m) << 20, int64(100 + 9*m), 10 * m} }, nil},
		"peaks":         {func(m int) usage { return usage{int64(50+m*(m%2)) << 20, 100, 10} }, nil},
		"then settles":  {func(m int) usage { return usage{int64(50+min(m, 35)) << 20, 100, 10} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, recorder, _ := newGrowth()
			for m := range growthWindow * growthWindows {
				g.add(test.at(m))
			}
			var got []inspect.AlarmKind
			for _, e := range recorder.told {
				got = append(got, e.Alarm.Kind)
				if e.Over || e.Alarm.Is <= e.Alarm.Was {
					t.Errorf("%+v", e)
				}
			}
			if len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
				t.Errorf("alarms %v", got)
			}
		})
	}
}

func TestGrowth_AlarmEndsWithTheGrowth(t *testing.T) {
	g, recorder, _ := newGrowth()
	for m := range 3 * growthWindow * growthWindows {
		g.add(usage{bytes: int64(50+min(m, 70)) << 20})
	}
	if len(recorder.told) != 2 || recorder.told[0].Over || !recorder.told[1].Over {
		t.Errorf("%+v", recorder.told)
	}
}

// The test leaks real goroutines in its own process.
func TestGrowth_FindsRealLeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		defer close(ended)
		g, recorder, _ := newGrowth()
		go func() {
			for range 70 {
				for range 50 {
					go func() { <-ended }()
				}
				select {
				case <-ended:
					return
				case <-time.After(time.Minute):
				}
			}
		}()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go g.run(ctx)
		time.Sleep(65 * time.Minute)
		synctest.Wait()
		found := false
		for _, e := range recorder.told {
			found = found || e.Alarm.Kind == inspect.AlarmGoroutines
		}
		if !found {
			t.Errorf("%+v", recorder.told)
		}
	})
}
