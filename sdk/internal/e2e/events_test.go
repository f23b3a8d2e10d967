package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// events are those of the test's namespace: "kind/name: type reason message ×count".
func (w *world) events() []string {
	w.t.Helper()
	list, err := w.client.List(w.t.Context(), observe.EventsResource(), w.ns, kube.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, item := range list.Items {
		o := &kopf.Object{}
		if err := o.UnmarshalJSON(item.Raw); err != nil {
			w.t.Fatal(err)
		}
		text := fmt.Sprintf("%s/%s: %s %s %s", o.Get("involvedObject.kind"), o.Get("involvedObject.name"), o.Get("type"), o.Get("reason"), o.Get("message"))
		if n := kopf.GetOr(o, "count", 1); n > 1 {
			text += fmt.Sprintf(" ×%d", n)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// untilEvents waits until there are these events and no others.
func (w *world) untilEvents(want ...string) {
	w.t.Helper()
	slices.Sort(want)
	var got []string
	eventually(w.t, "the events are posted", func() bool {
		got = w.events()
		return slices.Equal(got, want)
	}, func() any { return strings.Join(got, "\n") })
}

func TestFailuresOfHandlersAndWhatTheyRecordAreEvents(t *testing.T) {
	w := newWorld(t)
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			switch c.Retry {
			case 0:
				return kopf.Temporaryf(20*time.Millisecond, "not yet")
			case 1:
				return kopf.Temporaryf(20*time.Millisecond, "not yet")
			}
			c.Recorder.Info("Found", "It is there.")
			c.Recorder.Warn("Odd", "It is odd.")
			c.Recorder.Error("Broken", errors.New("it is broken"))
			c.Recorder.Event("Debug", "Own", "Of an own type.")
			c.Recorder.For(tree{"apiVersion": "v1", "kind": "Pod", "metadata": tree{"name": "p", "namespace": c.Namespace, "uid": "1"}}, c.Body).
				Info("Both", "For two objects.")
			c.Recorder.For(tree{"apiVersion": "v1", "kind": "Event", "metadata": tree{"name": "e", "namespace": c.Namespace}}).
				Info("Never", "There are no events about events.")
			c.Logger.Error("only in the log")
			return nil
		}, kopf.ID("create"))
		kopf.OnUpdate(r, kexes, func(context.Context, *kopf.Change[kopf.Object]) error {
			return kopf.Permanentf("never")
		}, kopf.ID("update"))
	})
	w.create(example("a"))
	o.journal.wait(t, "Creation is processed", 1)
	w.patch("a", tree{"spec": tree{"field": "new"}})
	o.journal.wait(t, "Updating is processed", 1)
	w.untilEvents(
		"KopfExample/a: Error Logging Handler 'create' failed temporarily: not yet ×2",
		"KopfExample/a: Normal Found It is there.",
		"KopfExample/a: Warning Odd It is odd.",
		"KopfExample/a: Error Broken it is broken",
		"KopfExample/a: Debug Own Of an own type.",
		"KopfExample/a: Normal Both For two objects.",
		"Pod/p: Normal Both For two objects.",
		"KopfExample/a: Error Logging Handler 'update' failed permanently: never",
	)
}

func TestTheLogAboutAnObjectIsEventsWhereAskedFor(t *testing.T) {
	w := newWorld(t)
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			c.Logger.Debug("hidden")
			c.Logger.Info("resizing", "from", 1, "to", 2)
			c.Logger.With("disk", "d1").WithGroup("it").Warn("is slow", "by", "far")
			if c.Retry == 0 {
				return kopf.Temporaryf(0, "once more")
			}
			return nil
		}, kopf.ID("create"))
	}, setup{settings: func(s *kopf.Settings) {
		s.Posting.Loggers, s.Posting.ReportingComponent = true, "mine"
	}})
	w.create(example("a"))
	o.journal.wait(t, "Creation is processed", 1)
	w.untilEvents(
		"KopfExample/a: Normal Logging resizing from=1 to=2 ×2",
		"KopfExample/a: Warning Logging is slow disk=d1 it.by=far ×2",
		"KopfExample/a: Error Logging Handler 'create' failed temporarily: once more",
		"KopfExample/a: Normal Logging Handler 'create' succeeded.",
		"KopfExample/a: Normal Logging Creation is processed: 1 succeeded; 0 failed.",
	)
}

func TestEventsAreLimitedAsTheSettingsSay(t *testing.T) {
	for name, test := range map[string]struct {
		settings func(*kopf.Settings)
		want     []string
	}{
		"by their level": {
			func(s *kopf.Settings) { s.Posting.Level = slog.LevelWarn },
			[]string{"KopfExample/a: Warning Odd It is odd.", "KopfExample/a: Own Own Of an own type."},
		},
		"altogether": {func(s *kopf.Settings) { s.Posting.Disabled = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := w.run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(_ context.Context, c *kopf.Change[kopf.Object]) error {
					c.Recorder.Info("Found", "It is there.")
					c.Recorder.Warn("Odd", "It is odd.")
					c.Recorder.For(c.Body).Event("Own", "Own", "Of an own type.")
					return nil
				}, kopf.ID("create"))
			}, setup{settings: test.settings})
			w.create(example("a"))
			o.journal.wait(t, "Creation is processed", 1)
			o.stop()
			w.untilEvents(test.want...)
		})
	}
}

func TestTheHandlingOfEventsMakesNoEvents(t *testing.T) {
	w := newWorld(t)
	var c callList
	event := func(_ context.Context, e *kopf.Event[kopf.Object]) error {
		c.add("seen")
		e.Recorder.Info("Seen", "An event.")
		return errors.New("which is no event")
	}
	o := w.run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kopf.Resource("v1", "events"), event, kopf.ID("core"))
		kopf.OnEvent(r, kopf.Resource("events.k8s.io/v1", "events"), event, kopf.ID("other"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			c.Recorder.Info("Found", "It is there.")
			return nil
		}, kopf.ID("create"))
	}, setup{settings: func(s *kopf.Settings) { s.Posting.Loggers = true }})
	w.create(example("a"))
	// The handler's own event and two of the log, each in both groups.
	eventually(t, "all events are seen", func() bool { return len(c.list()) >= 6 }, func() any { return w.events() })
	o.stop()
	if got := len(w.events()); got != 3 {
		t.Errorf("got %q", w.events())
	}
}
