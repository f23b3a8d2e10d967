package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// mailOnce returns a handler that sends one mail at most, and continues if the mail was perhaps sent.
func (o *outside) mailOnce(ctx context.Context, c *change) error {
	_, err := kopf.StepAtMostOnce(ctx, c, "mail", func(_ context.Context, key kopf.StepKey) (string, error) {
		return o.do("mail", key), nil
	})
	if errors.Is(err, kopf.ErrStepUnsure) {
		o.do("unsure", "")
		return nil
	}
	return err
}

func TestStepAtMostOnce_KilledAtAnyWriteIsNeverRepeated(t *testing.T) {
	run := func(t *testing.T, name string, write int, after bool) (o *outside, writes int, end string) {
		cluster, o := newCluster(t), &outside{}
		faults := killAt(write, after)
		faults.Rules[0].Match = writesOf(plain)
		proxy := cluster.FaultProxy(faults)
		stop := runReplaced(cluster, func(r *kopf.Registry) { kopf.OnCreate(r, plains, o.mailOnce, kopf.ID("create")) }, proxy)
		end = essential(waitHandled(cluster.Create(plain.of(example(name)))))
		stop()
		return o, len(proxy.Injected()), end
	}
	undisturbed, writes, end := run(t, "undisturbed", 0, false)
	if made := undisturbed.made(t); writes != 3 || made["mail"] != 1 || strings.Contains(end, "-step") {
		t.Fatalf("%d writes, want the start, the result and the end; calls: %v; object: %s", writes, made, end)
	}
	for point, want := range map[string]map[string]int{
		"1 before": {"mail": 1}, "1 after": {"unsure": 1},
		"2 before": {"mail": 1, "unsure": 1}, "2 after": {"mail": 1},
		"3 before": {"mail": 1}, "3 after": {"mail": 1},
	} {
		t.Run(point, func(t *testing.T) {
			o, _, got := run(t, "killed-"+strings.ReplaceAll(point, " ", "-"), int(point[0]-'0'), strings.HasSuffix(point, "after"))
			if made := o.made(t); !maps.Equal(made, want) {
				t.Errorf("calls: %v, want %v", made, want)
			}
			if got != end {
				t.Errorf("the object is\n%s\nundisturbed:\n%s", got, end)
			}
		})
	}
}

func TestStepAtMostOnce_APersonRepeatsAnUnsureStep(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	failing := true
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			if _, err := o.step(ctx, c, "bucket"); err != nil {
				return err
			}
			_, err := kopf.StepAtMostOnce(ctx, c, "mail", func(_ context.Context, key kopf.StepKey) (string, error) {
				if failing {
					return "", errors.New("connection lost")
				}
				return o.do("mail", key), nil
			})
			return err
		}, kopf.ID("create"))
	}
	op := cluster.Run(register)
	x := cluster.Create(example("x"))
	waitHandled(x)
	command := fmt.Sprintf("kubectl annotate kopfexamples.v1.kopf.dev -n %s x kopf.zalando.org/started-step.create.mail-", x.Get().Get("metadata.namespace"))
	op.WaitLogs("connection lost. If it has not happened, remove its start, and retry the handler: "+command, 1)
	waitSteps(op, inspect.StepRecorded, inspect.StepUnsure)
	op.Stop()
	failing = false
	again := cluster.Run(register)
	waitSteps(again, inspect.StepRecorded, inspect.StepUnsure)
	retry(t, again, inspect.Object{Ref: only(again).Ref}, "create")
	again.WaitLogs("has not recorded a result", 1)
	waitSteps(again, inspect.StepRecorded, inspect.StepUnsure)
	x.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/started-step.create.mail": nil}}})
	waitSteps(again, inspect.StepRecorded)
	retry(t, again, inspect.Object{Ref: only(again).Ref}, "create")
	again.WaitInspect("the handler has succeeded", func(s *inspect.Snapshot) bool { return s.Objects[0].State == inspect.StateSettled })
	if made := o.made(t); !maps.Equal(made, map[string]int{"bucket": 1, "mail": 1}) {
		t.Errorf("called: %v", made)
	}
	waitHandled(x)
	if recorded := fmt.Sprint(x.Get().Get("metadata.annotations")); strings.Contains(recorded, "-step") {
		t.Errorf("records stay: %s", recorded)
	}
}

// A process with an older version of the object than another process must not call the step, which that one has perhaps called.
func TestStepAtMostOnce_OldVersionStartsNothing(t *testing.T) {
	const began = "2020-01-01T00:00:00.000000+00:00"
	const started = `{"handler":"create","step":"mail","at":"` + began + `","uid":"%s"}`
	for name, test := range map[string]struct {
		annotations map[string]string // they appear while the handler runs, with the uid of the object
		after       bool              // another step is called between their appearance and the step
		want        map[string]int
		calls       int // calls of the handler
	}{
		"started by another process": {annotations: map[string]string{"started-step.create.mail": started}, want: map[string]int{"unsure": 1}, calls: 2},
		"started by another process, before another step": {annotations: map[string]string{"started-step.create.mail": started}, after: true,
			want: map[string]int{"bucket": 1, "unsure": 1}, calls: 2},
		"ended by another process": {annotations: map[string]string{
			"create":                   `{"started":"` + began + `","purpose":"create","retries":0,"success":false,"failure":false}`,
			"started-step.create.mail": started,
			"handler-steps.create":     `{"handler":"create","run":"` + began + `","epoch":0,"uid":"%s","steps":{"mail":{"at":"` + began + `","result":"sent"}}}`,
		}, want: map[string]int{}, calls: 2},
		"changed otherwise": {annotations: map[string]string{"note": "of %s"}, want: map[string]int{"mail": 1}, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, o := newCluster(t), &outside{}
			var x *kopftest.Object
			made := make(chan struct{})
			calls := 0
			cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
					if calls++; calls == 1 {
						<-made
						annotations := tree{}
						for key, text := range test.annotations {
							prefix := "kopf.zalando.org/"
							if key == "note" {
								prefix = "example.com/"
							}
							annotations[prefix+key] = strings.ReplaceAll(text, "%s", string(c.UID))
						}
						x.Patch(tree{"metadata": tree{"annotations": annotations}})
					}
					if test.after {
						if _, err := o.step(ctx, c, "bucket"); err != nil {
							return err
						}
					}
					return o.mailOnce(ctx, c)
				}, kopf.ID("create"))
			})
			x = cluster.Create(example("x"))
			close(made)
			waitHandled(x)
			if made := o.made(t); !maps.Equal(made, test.want) || calls != test.calls {
				t.Errorf("called: %v in %d calls of the handler, want %v in %d", made, calls, test.want, test.calls)
			}
			if recorded := fmt.Sprint(x.Get().Get("metadata.annotations")); strings.Contains(recorded, "-step") {
				t.Errorf("records stay: %s", recorded)
			}
		})
	}
}

func TestStepAtMostOnce_NamesThatMakeNoAnnotationFail(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			_, err := kopf.StepAtMostOnce(ctx, c, "mail to:a@b", func(_ context.Context, key kopf.StepKey) (string, error) { return o.do("mail", key), nil })
			return err
		}, kopf.ID("create"))
	})
	waitHandled(cluster.Create(example("x")))
	op.WaitLog("has letters, digits, - and _ only")
	if made := o.made(t); len(made) != 0 {
		t.Errorf("called: %v", made)
	}
}

func only(op *kopftest.Operator) (o *inspect.Object) {
	op.WaitInspect("there is one object", func(s *inspect.Snapshot) bool {
		if len(s.Objects) != 1 {
			return false
		}
		o = s.Objects[0]
		return true
	})
	return o
}

func TestStepAtMostOnce_ErrorsOfAKnownKindAreRetried(t *testing.T) {
	for name, rule := range map[string]kopftest.FaultRule{
		"no fault":                           {Fault: kopftest.Fault{Kind: kopftest.FaultNone}},
		"the start is refused":               {Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusUnprocessableEntity}, Times: 1},
		"the answer to the start is lost":    {Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusUnprocessableEntity, AfterEffect: true}, Times: 1},
		"the record of the result is denied": {Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusUnprocessableEntity}, Skip: 3, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, o := newCluster(t), &outside{}
			rule.Match = writesOf(plain)
			proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{rule}})
			refused := 0
			cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, plains, func(ctx context.Context, c *change) error {
					_, err := kopf.StepAtMostOnce(ctx, c, "mail", func(_ context.Context, key kopf.StepKey) (string, error) {
						if refused++; refused == 1 {
							return "", kopf.Temporaryf(time.Millisecond, "the server is busy, and has sent nothing")
						}
						return o.do("mail", key), nil
					})
					if errors.Is(err, kopf.ErrStepUnsure) {
						o.do("unsure", "")
					}
					return err
				}, kopf.ID("create"))
			}, proxy.Connect)
			x := cluster.Create(plain.of(example("x")))
			waitHandled(x)
			if made := o.made(t); !maps.Equal(made, map[string]int{"mail": 1}) || refused != 2 {
				t.Errorf("called: %v, %d refusals", made, refused)
			}
			if recorded := fmt.Sprint(x.Get().Get("metadata.annotations")); strings.Contains(recorded, "-step") {
				t.Errorf("records stay: %s", recorded)
			}
		})
	}
}

// The process knows that it has not called the step, although the start is on the object.
func TestStepAtMostOnce_LostAnswersToTheStartDoNotPreventTheCall(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	var lost atomic.Bool
	refusal := kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusUnprocessableEntity}
	start := refusal
	start.AfterEffect, start.Do = true, func() { lost.Store(true) }
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{
		{Match: writesOf(plain), Fault: start, Times: 1},
		{Match: writesOf(plain), Fault: kopftest.Fault{Kind: kopftest.FaultNone, Do: func() { lost.Store(false) }}},
		{Match: func(r *http.Request) bool {
			return lost.Load() && strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		}, Fault: refusal},
	}})
	op := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, plains, o.mailOnce, kopf.ID("create")) }, proxy.Connect)
	x := cluster.Create(plain.of(example("x")))
	waitHandled(x)
	if made := o.made(t); !maps.Equal(made, map[string]int{"mail": 1}) || op.CountLog("record the start") == 0 {
		t.Errorf("called: %v", made)
	}
	if recorded := fmt.Sprint(x.Get().Get("metadata.annotations")); strings.Contains(recorded, "-step") {
		t.Errorf("records stay: %s", recorded)
	}
}

func TestStepAtMostOnce_RefusedCallOfAStoppingOperatorIsRepeated(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	called := make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			_, err := kopf.StepAtMostOnce(ctx, c, "mail", func(ctx context.Context, _ kopf.StepKey) (string, error) {
				close(called)
				<-ctx.Done()
				return "", kopf.Temporaryf(time.Millisecond, "nothing is sent: %w", ctx.Err())
			})
			return err
		}, kopf.ID("create"))
	}, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Millisecond }))
	x := cluster.Create(example("x"))
	<-called
	op.Stop()
	want := map[string]int{"mail": 1}
	if op.CountLog("Cannot remove the start") > 0 { // the machine is slow
		want = map[string]int{"unsure": 1}
	}
	cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, o.mailOnce, kopf.ID("create")) })
	waitHandled(x)
	if made := o.made(t); !maps.Equal(made, want) {
		t.Errorf("called: %v, want %v", made, want)
	}
}
