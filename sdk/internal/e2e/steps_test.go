package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// outside is another system. It has one effect for each key.
type outside struct {
	mu    sync.Mutex
	calls []string // names of the calls, in their order
	given []string // names and keys of the calls, in their order
}

func (o *outside) do(name string, key kopf.StepKey) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, name)
	o.given = append(o.given, name+" "+string(key))
	return name + " is done"
}

// made returns the numbers of calls by their names; it fails the test if a name has more than one key.
func (o *outside) made(t *testing.T) map[string]int {
	t.Helper()
	made := map[string]int{}
	for name, keys := range o.keysByName() {
		made[name] = len(keys)
		if len(slices.Compact(keys)) > 1 {
			t.Errorf("%s has two keys: two effects", name)
		}
	}
	return made
}

// keysByName returns the keys of the calls by their names, in the order of the calls.
func (o *outside) keysByName() map[string][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string][]string{}
	for _, call := range o.given {
		name, key, _ := strings.Cut(call, " ")
		all[name] = append(all[name], key)
	}
	return all
}

// step runs one step of a handler, which returns the answer of the other system.
func (o *outside) step(ctx context.Context, c kopf.Stepper, name string) (string, error) {
	return kopf.Step(ctx, c, name, func(_ context.Context, key kopf.StepKey) (string, error) {
		return o.do(name, key), nil
	})
}

// steps returns a handler with three steps.
func (o *outside) steps(prefix string) func(context.Context, *change) error {
	return func(ctx context.Context, c *change) error {
		var results []any
		for _, name := range []string{"bucket", "grant", "notify"} {
			result, err := o.step(ctx, c, prefix+name)
			if err != nil {
				return err
			}
			results = append(results, result)
		}
		c.Result = results
		return nil
	}
}

func TestStep_KilledAtAnyWriteRepeatsTheUnrecordedStep(t *testing.T) {
	run := func(t *testing.T, name string, write int, after bool) (o *outside, writes int, end string) {
		cluster, o := newCluster(t), &outside{}
		faults := killAt(write, after)
		faults.Rules[0].Match = writesOf(plain)
		proxy := cluster.FaultProxy(faults)
		stop := runReplaced(cluster, func(r *kopf.Registry) {
			kopf.OnCreate(r, plains, o.steps("create-"), kopf.ID("create"))
			kopf.OnUpdate(r, plains, o.steps("update-"), kopf.ID("update"))
		}, proxy)
		x := cluster.Create(plain.of(example(name)))
		waitHandled(x)
		x.Patch(field("two"))
		end = essential(waitHandled(x))
		stop()
		return o, len(proxy.Injected()), end
	}
	undisturbed, writes, end := run(t, "undisturbed", 0, false)
	names := slices.Clone(undisturbed.calls)
	if want := []string{"create-bucket", "create-grant", "create-notify", "update-bucket", "update-grant", "update-notify"}; !slices.Equal(names, want) {
		t.Fatalf("called: %q", names)
	}
	if writes != 8 {
		t.Fatalf("%d writes, want one for each step and one for each handling", writes)
	}
	if !strings.Contains(end, `handler-steps.update":"{\"handler\":\"update\",\"epoch\":1}"`) || strings.Contains(end, "handler-steps.create") {
		t.Errorf("recorded: %s", end)
	}
	recorded := []string{"create-bucket", "create-grant", "create-notify", "", "update-bucket", "update-grant", "update-notify", ""}
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d", when, n), func(t *testing.T) {
				o, _, got := run(t, fmt.Sprintf("killed-%s-%d", when, n), n, when == "after")
				if got != end {
					t.Errorf("the object is\n%s\nundisturbed:\n%s", got, end)
				}
				want := map[string]int{}
				for _, name := range names {
					want[name] = 1
				}
				if name := recorded[n-1]; name != "" && when == "before" {
					want[name] = 2
				}
				if made := o.made(t); !maps.Equal(made, want) {
					t.Errorf("called: %v, want %v", made, want)
				}
			})
		}
	}
}

func TestStep_RecordedResultIsReturnedWithoutACall(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	var got calls
	during := make(chan tree, 1)
	var x *kopftest.Object
	created := make(chan struct{})
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			<-created
			result, err := o.step(ctx, c, "bucket")
			if err != nil {
				return err
			}
			got.add(result)
			if c.Retry < 2 {
				annotations, _ := x.Get().Get("metadata.annotations").(tree)
				if c.Retry == 0 {
					during <- annotations
				}
				return kopf.Temporaryf(time.Millisecond, "the grant is missing")
			}
			return nil
		}, kopf.ID("create"))
	})
	x = cluster.Create(example("x"))
	close(created)
	annotations := receive(cluster, "the step is recorded", during)
	waitHandled(x)
	if made := o.made(t); made["bucket"] != 1 || got.count("bucket is done") != 3 {
		t.Errorf("calls: %v, results: %v", made, got.all())
	}
	text, _ := annotations["kopf.zalando.org/handler-steps.create"].(string)
	started, _ := progressOf(annotations, "kopf.zalando.org/create")["started"].(string)
	if started == "" || !strings.HasPrefix(text, `{"handler":"create","run":"`+started+`","epoch":0,"uid":"`+fmt.Sprint(x.Get().Get("metadata.uid"))+`","steps":{"bucket":{"at":"`) || !strings.HasSuffix(text, `,"result":"bucket is done"}}}`) {
		t.Errorf("recorded: %v", annotations)
	}
	if left, _ := x.Get().Get("metadata.annotations").(tree); left["kopf.zalando.org/handler-steps.create"] != nil || left["kopf.zalando.org/create"] != nil {
		t.Errorf("records stay: %v", left)
	}
}

func TestStep_SubHandlersRecordTheirSteps(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(ctx context.Context, c *change) error {
			if _, err := o.step(ctx, c, "parent"); err != nil {
				return err
			}
			for _, sub := range []string{"a", "b"} {
				c.Sub(sub, func(ctx context.Context, s *change) error {
					if _, err := o.step(ctx, s, sub); err != nil {
						return err
					}
					if s.Retry < 1 {
						return kopf.Temporaryf(time.Millisecond, "the first attempt fails")
					}
					return nil
				})
			}
			return nil
		}, kopf.ID("update"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	waitHandled(x)
	if made := o.made(t); !maps.Equal(made, map[string]int{"parent": 1, "a": 1, "b": 1}) {
		t.Errorf("called: %v", made)
	}
	annotations, _ := x.Get().Get("metadata.annotations").(tree)
	for _, id := range []string{"update", "update.a", "update.b"} {
		if annotations["kopf.zalando.org/"+id] != nil || strings.Contains(fmt.Sprint(annotations["kopf.zalando.org/handler-steps."+id]), "steps") {
			t.Errorf("records stay: %v", annotations)
		}
	}
}

func TestStep_ChangeInTheMiddleBecomesAnUpdate(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	var seen calls
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(ctx context.Context, c *change) error {
			value := kopf.GetOr(c.Body, "spec.field", "")
			result, err := kopf.Step(ctx, c, "resize", func(_ context.Context, key kopf.StepKey) (string, error) {
				o.do(value, key)
				return value, nil
			})
			if err != nil {
				return err
			}
			seen.add(value + " with " + result)
			if value == "two" {
				return kopf.Temporaryf(time.Millisecond, "not yet")
			}
			return nil
		}, kopf.ID("update"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	seen.wait(cluster, "two with two", 1)
	x.Patch(field("three"))
	seen.wait(cluster, "three with three", 1)
	waitHandled(x)
	if seen.count("three with two") != 1 {
		t.Errorf("called: %v", seen.all())
	}
	if made := o.made(t); !maps.Equal(made, map[string]int{"two": 1, "three": 1}) {
		t.Errorf("effects: %v", made)
	}
	op.WaitLogs("was called for an earlier state of the object", 1)
}

func TestStep_RefusedRecordDoesNotRepeatTheEffect(t *testing.T) {
	for name, fault := range map[string]kopftest.Fault{
		"invalid":         {Kind: kopftest.FaultStatus, Code: http.StatusUnprocessableEntity},
		"conflict":        {Kind: kopftest.FaultStatus, Code: http.StatusConflict},
		"unavailable":     {Kind: kopftest.FaultStatus, Code: http.StatusServiceUnavailable},
		"answer is lost":  {Kind: kopftest.FaultStatus, Code: http.StatusServiceUnavailable, AfterEffect: true},
		"answer is wrong": {Kind: kopftest.FaultStatus, Code: http.StatusConflict, AfterEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, o := newCluster(t), &outside{}
			proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{Match: writesOf(plain), Fault: fault, Times: 1}}})
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, plains, o.steps(""), kopf.ID("create"))
			}, proxy.Connect)
			x := cluster.Create(plain.of(example("x")))
			waitHandled(x)
			if fault.Code == http.StatusUnprocessableEntity { // otherwise, the same attempt sends the record again
				op.WaitLogs("record the result", 1)
			}
			if made := o.made(t); !maps.Equal(made, map[string]int{"bucket": 1, "grant": 1, "notify": 1}) {
				t.Errorf("called: %v", made)
			}
			if len(proxy.Injected()) != 1 {
				t.Errorf("the API server refused %d records, want one", len(proxy.Injected()))
			}
		})
	}
}

// TestStep_LostAnswerKeepsTheResult loses the answer to a record. The next record of the attempt must not remove the result, since
// the next process has nothing else.
func TestStep_LostAnswerKeepsTheResult(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	lost := kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusUnprocessableEntity, AfterEffect: true}
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{Match: writesOf(plain), Fault: lost, Times: 1}}})
	var second atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(ctx context.Context, c *change) error {
			_, err := o.step(ctx, c, "bucket")
			if !second.Load() && err != nil {
				return kopf.Temporaryf(8*time.Second, "the first operator: %w", err) // it stops before
			}
			return err
		}, kopf.ID("create"))
	}, proxy.Connect)
	x := cluster.Create(plain.of(example("x")))
	x.WaitFor("the attempt is recorded", func(o *kopf.Object) bool {
		annotations, _ := o.Get("metadata.annotations").(tree)
		return progressOf(annotations, "kopf.zalando.org/create")["delayed"] != nil
	})
	op.Stop()
	if recorded := stepsOf(x.Get()); !strings.Contains(recorded, "bucket is done") {
		t.Errorf("recorded: %s", recorded)
	}
	second.Store(true)
	op.Start()
	waitHandled(x)
	if made := o.made(t); made["bucket"] != 1 {
		t.Errorf("called: %v", made)
	}
}

func TestStep_FullAnnotationsPreventTheEffect(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, o.steps(""), kopf.ID("create"))
		kopf.OnDelete(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("end"))
	})
	full := example("x")
	full["metadata"].(tree)["annotations"] = tree{"full": strings.Repeat("x", 262144-4096)}
	x := cluster.Create(full)
	op.WaitLogs("the annotations of the object leave no room for the record; shorten the biggest: full", 1)
	if made := o.made(t); len(made) > 0 {
		t.Errorf("called: %v", made)
	}
	x.Delete()
	x.WaitGone()
}

func TestStep_UnrecordableResultsFailPermanently(t *testing.T) {
	for _, test := range []struct {
		name   string
		result any
		want   string
	}{
		{"size", strings.Repeat("x", 5000), "the result has 5002 bytes, and a record at most 4096"},
		{"secret", map[string]any{"user": map[string]any{"accessToken": "x"}}, "the result seems to contain a secret, accessToken"},
		{"json", func() {}, "encode the result as JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := newCluster(t)
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
					_, err := kopf.Step(ctx, c, "step", func(context.Context, kopf.StepKey) (any, error) { return test.result, nil })
					return err
				}, kopf.ID("create"))
			})
			waitHandled(cluster.Create(example("x")))
			op.WaitLogs("failed permanently", 1)
			op.WaitLogs(test.want, 1)
		})
	}
}

func TestStep_StepsDoNotNest(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			_, err := kopf.Step(ctx, c, "outer", func(ctx context.Context, _ kopf.StepKey) (int, error) {
				return kopf.Step(ctx, c, "inner", func(context.Context, kopf.StepKey) (int, error) { return 1, nil })
			})
			return err
		}, kopf.ID("create"))
	})
	waitHandled(cluster.Create(example("x")))
	op.WaitLogs("steps run one after the other, and do not nest", 1)
}

// TestStep_PythonEndsTheHandling removes the progress record, as Kopf for Python does at the end of a handling, while no operator runs.
func TestStep_PythonEndsTheHandling(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	var failing sync.Map
	failing.Store("fails", true)
	var attempts calls
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(ctx context.Context, c *change) error {
			value := kopf.GetOr(c.Body, "spec.field", "")
			if _, err := kopf.Step(ctx, c, "resize", func(_ context.Context, key kopf.StepKey) (string, error) { return o.do(value, key), nil }); err != nil {
				return err
			}
			attempts.add(value)
			if value == "two" {
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			return nil
		}, kopf.ID("update"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	cluster.WaitUntil("the attempt is recorded", func() bool {
		annotations, _ := x.Get().Get("metadata.annotations").(tree)
		return strings.Contains(fmt.Sprint(annotations["kopf.zalando.org/update"]), `"retries":1`)
	})
	op.Stop()
	x.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/update": nil}}, "spec": tree{"field": "three"}})
	op.Start()
	attempts.wait(cluster, "three", 1)
	waitHandled(x)
	if made := o.made(t); !maps.Equal(made, map[string]int{"two": 1, "three": 1}) {
		t.Errorf("the step of the ended handling counts: %v", made)
	}
}
