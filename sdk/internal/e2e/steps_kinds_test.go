package e2e

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// mailOrFind returns a handler that asks whether the mail was sent, and sends it otherwise.
func (o *outside) mailOrFind(ctx context.Context, c *change) error {
	_, err := kopf.FindOrStep(ctx, c, "mail", func(_ context.Context, key kopf.StepKey) (string, bool, error) {
		return "mail is done", slices.Contains(o.keysByName()["mail"], string(key)), nil
	}, func(_ context.Context, key kopf.StepKey) (string, error) { return o.do("mail", key), nil })
	return err
}

func TestStep_ReleaseChangesTheKindOfAStartedStep(t *testing.T) {
	type handler func(*outside, context.Context, *change) error
	const once = "at most once"
	kinds := map[string]handler{once: (*outside).mailOnce, "asked": (*outside).mailOrFind}
	for name, test := range map[string]struct {
		before, after string // kinds
		write         int    // request that ends the first process
		stored        bool   // the request reaches the API server
		calls         int
	}{
		"asked, start without a call":   {before: once, after: "asked", write: 1, stored: true, calls: 1},
		"asked, call without a record":  {before: once, after: "asked", write: 2, calls: 1},
		"asked, recorded call":          {before: once, after: "asked", write: 2, stored: true, calls: 1},
		"at most once, recorded call":   {before: "asked", after: once, write: 1, stored: true, calls: 1},
		"at most once, unrecorded call": {before: "asked", after: once, write: 1, calls: 2}, // the earlier release has recorded no start
	} {
		t.Run(name, func(t *testing.T) {
			cluster, o := newCluster(t), &outside{}
			faults := killAt(test.write, test.stored)
			faults.Rules[0].Match = writesOf(plain)
			proxy := cluster.FaultProxy(faults)
			register := func(kind string) func(*kopf.Registry) {
				return func(r *kopf.Registry) {
					kopf.OnCreate(r, plains, func(ctx context.Context, c *change) error { return kinds[kind](o, ctx, c) }, kopf.ID("create"))
				}
			}
			op := cluster.Run(register(test.before), proxy.Connect, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Millisecond }))
			killed := proxy.Killed()
			x := cluster.Create(plain.of(example("x")))
			<-killed
			op.Stop()
			cluster.Run(register(test.after))
			if end := essential(waitHandled(x)); strings.Contains(end, "-step") {
				t.Errorf("records stay: %s", end)
			}
			if made := o.made(t); !maps.Equal(made, map[string]int{"mail": test.calls}) {
				t.Errorf("called: %v, want %d mails", made, test.calls)
			}
		})
	}
}

func TestFindOrStep_TakesOverAnUnsureStep(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			_, err := kopf.StepAtMostOnce(ctx, c, "mail", func(context.Context, kopf.StepKey) (string, error) {
				return "", errors.New("connection lost")
			})
			return err
		}, kopf.ID("create"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	if steps := waitSteps(op, inspect.StepUnsure); !steps[0].Once {
		t.Errorf("unsure: %+v", steps)
	}
	op.Stop()
	questions, answers := make(chan struct{}), make(chan bool)
	again := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			_, err := kopf.FindOrStep(ctx, c, "mail", func(context.Context, kopf.StepKey) (string, bool, error) {
				questions <- struct{}{}
				return "found", <-answers, nil
			}, func(context.Context, kopf.StepKey) (string, error) { return "", errors.New("it was sent before") })
			return err
		}, kopf.ID("create"))
	})
	waitSteps(again, inspect.StepUnsure)
	retry(t, again, inspect.Object{Ref: only(again).Ref}, "create")
	<-questions
	if steps := waitSteps(again, inspect.StepRunning); steps[0].Once {
		t.Errorf("a restart repeats the question: %+v", steps)
	}
	answers <- true
	again.WaitInspect("the handler has succeeded", func(s *inspect.Snapshot) bool { return s.Objects[0].State == inspect.StateSettled })
	if end := essential(waitHandled(x)); strings.Contains(end, "-step") {
		t.Errorf("records stay: %s", end)
	}
}
