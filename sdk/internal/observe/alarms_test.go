package observe

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestWithAlarm_OneForEachSubject(t *testing.T) {
	x, y := inspect.Ref{Name: "x"}, inspect.Ref{Name: "y"}
	loop := func(ref inspect.Ref, n int) AlarmChanged {
		return AlarmChanged{Alarm: inspect.Alarm{Kind: inspect.AlarmHotLoop, Object: &ref, Count: n, Since: time.Unix(int64(n), 0)}}
	}
	one := withAlarm(nil, loop(x, 1))
	two := withAlarm(withAlarm(one, loop(y, 2)), loop(x, 3))
	if len(one) != 1 || one[0].Count != 1 || len(two) != 2 || two[0].Count != 3 || !two[0].Since.Equal(time.Unix(1, 0)) {
		t.Errorf("%+v, %+v", one, two)
	}
	over := loop(x, 4)
	over.Over = true
	if left := withAlarm(two, over); len(left) != 1 || *left[0].Object != y || len(two) != 2 {
		t.Errorf("%+v", left)
	}
	var many []inspect.Alarm
	for n := range 2 * maxAlarms {
		many = withAlarm(many, AlarmChanged{Alarm: inspect.Alarm{Kind: inspect.AlarmForbidden, Verb: string(rune('a' + n))}})
	}
	if len(many) != maxAlarms {
		t.Error(len(many))
	}
}

func logInto(log *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }

func TestLongRetries_LoggedOnceForEachHandler(t *testing.T) {
	var log bytes.Buffer
	l, h := NewLongRetries(), &handlers.Handler{ID: "h", Family: handlers.Create}
	subject := podSubject("a", "1")
	subject.Identity, subject.Logger = &Identity{}, logInto(&log)
	start := time.Unix(1_700_000_000, 0)
	retry := func(after time.Duration, out handlers.Outcome) {
		l.Receive(AttemptEnded{Subject: subject, Handler: h, Started: start, Began: start.Add(after), Retries: 30, Outcome: out})
	}
	failed := handlers.Outcome{Err: errors.New("oops")}
	logged := func(n int) {
		t.Helper()
		if got := strings.Count(log.String(), string(LogAlarmRetrying)); got != n {
			t.Errorf("logged %d times, not %d: %s", got, n, log.String())
		}
	}
	retry(59*time.Minute, failed)
	logged(0)
	retry(2*time.Hour, failed)
	retry(3*time.Hour, failed)
	logged(1)
	if text := log.String(); !strings.Contains(text, "retried for 2h0m0s, 31 times") {
		t.Error(text)
	}
	retry(4*time.Hour, handlers.Outcome{Final: true})
	retry(5*time.Hour, failed)
	logged(2)
	l.Receive(ObjectForgotten{subject.Identity})
	if len(l.known) != 0 || l.some.Load() {
		t.Error("a forgotten object is remembered")
	}
}

func TestUnusedHandlers_ReportedIfFiltersKeepOutAllObjects(t *testing.T) {
	var log bytes.Buffer
	all := map[string]*handlers.Handler{}
	registry := &handlers.Registry{}
	for id, family := range map[string]handlers.Family{"kept": handlers.Create, "called": handlers.Create, "one": handlers.Timer, "handled": handlers.Create, "update": handlers.Update} {
		all[id] = &handlers.Handler{ID: id, Family: family}
	}
	sink := &Sink{}
	u := NewUnusedHandlers(sink, registry)
	for _, h := range all {
		u.uses[h] = new(use)
	}
	note := func(id string, kind handlers.MismatchKind) {
		known := u.uses[all[id]]
		known.note(handlers.Decision{Handler: all[id], Selected: kind == "", Why: handlers.Mismatch{Kind: kind, Path: "tier"}}, nil)
	}
	for range 3 {
		note("kept", handlers.MismatchLabel)
		note("called", handlers.MismatchLabel)
		note("one", handlers.MismatchLabel)
	}
	note("one", "")
	note("handled", handlers.MismatchLabel)
	note("handled", handlers.MismatchReason)
	u.Receive(AttemptStarted{Handler: all["called"]})
	u.Report(logInto(&log), 10*time.Minute)
	if text := log.String(); strings.Count(text, string(LogAlarmUnused)) != 1 || !strings.Contains(text, "kept") || !strings.Contains(text, "objects=3 filter=label path=tier") {
		t.Error(text)
	}
}
