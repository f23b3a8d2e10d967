package observe

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestOutcomeEvents_FailuresOfObjectHandlersOnly(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		recorders := NewRecorders(time.Now)
		recorders.Start(p, slog.LevelInfo)
		var sink Sink
		sink.Subscribe(OutcomeEvents{})
		for family, level := range map[handlers.Family]slog.Level{
			handlers.Create: slog.LevelInfo, handlers.Daemon: slog.LevelError,
			handlers.Index: slog.LevelError, handlers.Event: slog.LevelError, handlers.Startup: slog.LevelError,
		} {
			Emit(&sink, AttemptEnded{
				Subject: &Subject{Recorder: recorders.For(about), Logger: silent}, Handler: &handlers.Handler{ID: "h", Family: family},
				Line: handlers.LogLine{Level: level, Message: string(family)},
			})
		}
		synctest.Wait()
		c.expect(t, "POST "+events+" daemon <nil>")
		waits := handlers.AsTemporary(errors.New("not yet"), time.Minute)
		Emit(&sink, AttemptEnded{
			Subject: &Subject{Recorder: recorders.For(about), Logger: silent}, Handler: &handlers.Handler{ID: "h", Family: handlers.Create},
			Line: handlers.LogLine{Level: slog.LevelInfo, Message: "waits"}, Outcome: handlers.Outcome{Err: waits}, Err: waits,
		})
		synctest.Wait()
		c.expect(t, "POST "+events+" waits <nil>")
	})
}
