package observe

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecorder_EarlyEventsPostedOnceThePosterIsKnown(t *testing.T) {
	post(t, PosterOptions{QueueLimit: maxEarlyEvents, Burst: maxEarlyEvents}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		recorders := NewRecorders(time.Now)
		recorder := recorders.For().About(about)
		recorder.Record(slog.LevelInfo, Normal, "R", "early")
		recorder.Record(slog.LevelDebug, Normal, "R", "unimportant")
		recorder.Unleveled(Normal, "R", "wanted")
		time.Sleep(time.Minute)
		c.expect(t)
		if dropped := recorders.Start(p, slog.LevelInfo); dropped != 0 {
			t.Errorf("%d are dropped", dropped)
		}
		recorder.Record(slog.LevelInfo, Normal, "R", "late")
		synctest.Wait()
		c.expect(t, "POST "+events+" early <nil>", "POST "+events+" wanted <nil>", "POST "+events+" late <nil>")
	})
}

func TestRecorder_EarlyEventsKeepTheirTime(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, _ *cluster, _ func()) {
		recorders := NewRecorders(time.Now)
		began := time.Now()
		recorders.For(about).Record(slog.LevelInfo, Normal, "R", "early")
		time.Sleep(time.Minute)
		recorders.Start(p, slog.LevelInfo)
		s, ok := p.recent.get(content{about, Normal, "R", "early"})
		if !ok || !s.first.Equal(began) {
			t.Errorf("%+v", s)
		}
	})
}

func TestRecorder_TooManyEarlyEventsAreDropped(t *testing.T) {
	recorders := NewRecorders(time.Now)
	recorder := recorders.For(about)
	for range maxEarlyEvents + 1 {
		recorder.Record(slog.LevelInfo, Normal, "Started", "text")
	}
	if len(recorders.early) != maxEarlyEvents {
		t.Errorf("%d are kept", len(recorders.early))
	}
	if dropped := recorders.Start(nil, slog.LevelInfo); dropped != 1 {
		t.Errorf("%d are dropped", dropped)
	}
	recorder.Unleveled(Normal, "Later", "text") // nothing is posted: that is no failure
	if recorders.For(about) != nil {
		t.Error("there is a recorder although nothing is posted")
	}
}

func TestRecorder_NilPostsNothing(t *testing.T) {
	var none *Recorder
	none.Record(slog.LevelError, Warning, "R", "text")
	none.About(about).Unleveled(Normal, "R", "text")
	if logger := none.Logger(silent); logger != silent {
		t.Error("there is another logger")
	}
}

func TestRecorder_LoggerPostsLinesToo(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		recorders := NewRecorders(time.Now)
		recorders.Start(p, slog.LevelInfo)
		var out bytes.Buffer
		logger := recorders.For(about).Logger(slog.New(NewLogHandler(&out, LogOptions{Format: LogPlain, Level: slog.LevelWarn})))
		logger = logger.With(HandlerKey, "h").WithGroup("g").With("a", 1)
		logger.Debug("low")
		logger.Info("posted", "b", 2)
		logger.Warn("both", slog.String(StackKey, "main.go"))
		synctest.Wait()
		c.expect(t, "POST "+events+" posted g.a=1 g.b=2 <nil>", "POST "+events+" both g.a=1 g.stack=main.go <nil>")
		if got, want := out.String(), "both handler=h g.a=1 g.stack=main.go\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestEventType_ByLevel(t *testing.T) {
	var got []string
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		got = append(got, eventType(level))
	}
	if !slices.Equal(got, []string{"Debug", Normal, Warning, "Error"}) {
		t.Error(got)
	}
}
