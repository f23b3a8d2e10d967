package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// events returns the Kubernetes events of the test's namespace: "kind/name: type reason message ×count".
func events(cluster *kopftest.Cluster) []string {
	cluster.T().Helper()
	var all []string
	for _, o := range cluster.List("events.v1") {
		all = append(all, eventText(o))
	}
	slices.Sort(all)
	return all
}

func eventText(o *kopf.Object) string {
	text := fmt.Sprintf("%s/%s: %s %s %s", o.Get("involvedObject.kind"), o.Get("involvedObject.name"), o.Get("type"), o.Get("reason"), o.Get("message"))
	if n := kopf.GetOr(o, "count", 1); n > 1 {
		text += fmt.Sprintf(" ×%d", n)
	}
	return text
}

// waitEvents waits until there are these events and no others.
func waitEvents(cluster *kopftest.Cluster, want ...string) {
	cluster.T().Helper()
	slices.Sort(want)
	cluster.WaitList("events.v1", fmt.Sprintf("they are %q", want), func(list []*kopf.Object) bool {
		var got []string
		for _, o := range list {
			got = append(got, eventText(o))
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

func TestEvent_FailuresAndRecordedOnesArePosted(t *testing.T) {
	cluster := newCluster(t)
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
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
			both, err := c.Recorder.For(tree{"apiVersion": "v1", "kind": "Pod", "metadata": tree{"name": "p", "namespace": c.Namespace, "uid": "1"}}, c.Body)
			if err != nil {
				return err
			}
			both.Info("Both", "For two objects.")
			never, err := c.Recorder.For(tree{"apiVersion": "v1", "kind": "Event", "metadata": tree{"name": "e", "namespace": c.Namespace}})
			if err != nil {
				return err
			}
			never.Info("Never", "There are no events about events.")
			c.Logger.Error("only in the log")
			return nil
		}, kopf.ID("create"))
		kopf.OnUpdate(r, kexes, func(context.Context, *change) error {
			return kopf.Permanentf("never")
		}, kopf.ID("update"))
	})
	a := cluster.Create(example("a"))
	o.WaitLog("Creation is processed")
	a.Patch(field("new"))
	o.WaitLog("Updating is processed")
	waitEvents(cluster,
		"KopfExample/a: Normal Logging Handler 'create' failed temporarily: not yet ×2",
		"KopfExample/a: Normal Found It is there.",
		"KopfExample/a: Warning Odd It is odd.",
		"KopfExample/a: Error Broken it is broken",
		"KopfExample/a: Debug Own Of an own type.",
		"KopfExample/a: Normal Both For two objects.",
		"Pod/p: Normal Both For two objects.",
		"KopfExample/a: Error Logging Handler 'update' failed permanently: never",
	)
}

func TestEvent_LogIsPostedIfAsked(t *testing.T) {
	cluster := newCluster(t)
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			c.Logger.Debug("hidden")
			c.Logger.Info("resizing", "from", 1, "to", 2)
			c.Logger.With("disk", "d1").WithGroup("it").Warn("is slow", "by", "far")
			if c.Retry == 0 {
				return kopf.Temporaryf(-1, "once more")
			}
			return nil
		}, kopf.ID("create"))
	}, settings(func(s *kopf.Settings) {
		s.Posting.Loggers, s.Posting.ReportingComponent = true, "mine"
	}))
	cluster.Create(example("a"))
	o.WaitLog("Creation is processed")
	waitEvents(cluster,
		"KopfExample/a: Normal Logging resizing from=1 to=2 ×2",
		"KopfExample/a: Warning Logging is slow disk=d1 it.by=far ×2",
		"KopfExample/a: Normal Logging Handler 'create' failed temporarily: once more",
		"KopfExample/a: Normal Logging Handler 'create' succeeded.",
		"KopfExample/a: Normal Logging Creation is processed: 1 succeeded; 0 failed.",
	)
}

func TestEvent_SettingsLimitPosting(t *testing.T) {
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
			cluster := newCluster(t)
			o := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
					c.Recorder.Info("Found", "It is there.")
					c.Recorder.Warn("Odd", "It is odd.")
					own, err := c.Recorder.For(c.Body)
					if err != nil {
						return err
					}
					own.Event("Own", "Own", "Of an own type.")
					return nil
				}, kopf.ID("create"))
			}, settings(test.settings))
			cluster.Create(example("a"))
			o.WaitLog("Creation is processed")
			waitEvents(cluster, test.want...)
			o.Stop() // posts the rest
			waitEvents(cluster, test.want...)
		})
	}
}

func TestEvent_HandlingEventsPostsNone(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	event := func(_ context.Context, e *event) error {
		c.add("seen")
		e.Recorder.Info("Seen", "An event.")
		return errors.New("which is no event")
	}
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kopf.Resource("v1", "events"), event, kopf.ID("core"))
		kopf.OnEvent(r, kopf.Resource("events.k8s.io/v1", "events"), event, kopf.ID("other"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			c.Recorder.Info("Found", "It is there.")
			return nil
		}, kopf.ID("create"))
	}, settings(func(s *kopf.Settings) { s.Posting.Loggers = true }))
	cluster.Create(example("a"))
	// The handler's own event and two of the log, each in both groups.
	cluster.WaitUntil("all events are seen", func() bool { return len(c.all()) >= 6 })
	o.Stop()
	if got := len(events(cluster)); got != 3 {
		t.Errorf("got %q", events(cluster))
	}
}

func TestEvent_HandlersOfRawEventsPostOnlyWhatTheyRecord(t *testing.T) {
	for name, loggers := range map[string]bool{"by default": false, "with the log posted": true} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			o := cluster.Run(func(r *kopf.Registry) {
				kopf.OnEvent(r, kexes, func(_ context.Context, e *event) error {
					e.Logger.Warn("a line of the handler")
					e.Recorder.Info("Seen", "It is seen.")
					return errors.New("it is broken")
				}, kopf.ID("watching"))
			}, settings(func(s *kopf.Settings) { s.Posting.Loggers = loggers }))
			cluster.Create(example("a"))
			o.WaitLog("it is broken")
			waitEvents(cluster, "KopfExample/a: Normal Seen It is seen.")
			o.Stop() // posts the rest
			waitEvents(cluster, "KopfExample/a: Normal Seen It is seen.")
		})
	}
}
