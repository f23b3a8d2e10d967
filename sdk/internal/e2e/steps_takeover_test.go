package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// pythonic are the actions of Kopf for Python between two Go operators, which have handled the same change. Kopf for Python keeps the
// annotation of the steps. Each action returns the annotations that it writes.
var pythonic = map[string]struct {
	act func(annotations tree) tree
	// again is set if the action ends the handling, so that all steps of the next change are called.
	again bool
	// done is set if the action records the success of the handler, so that no further step is called.
	done bool
}{
	"retries": {act: func(annotations tree) tree {
		return tree{
			"kopf.zalando.org/update": progressAs(annotations, "update", tree{"retries": 2, "delayed": pythonTime(time.Now().Add(-time.Second)), "message": "not yet"}),
			"kopf.zalando.org/other":  progressAs(annotations, "other", tree{"delayed": pythonTime(time.Now().Add(-time.Second))}),
		}
	}},
	"succeeds": {done: true, act: func(annotations tree) tree {
		return tree{
			"kopf.zalando.org/update": progressAs(annotations, "update", tree{"retries": 2, "success": true, "stopped": pythonTime(time.Now()), "delayed": nil}),
			"kopf.zalando.org/other":  progressAs(annotations, "other", tree{"delayed": pythonTime(time.Now().Add(-time.Second))}),
		}
	}},
	"ends": {again: true, act: func(annotations tree) tree {
		return tree{
			"kopf.zalando.org/update": nil, "kopf.zalando.org/other": nil,
			"kopf.zalando.org/last-handled-configuration": strings.Replace(annotations["kopf.zalando.org/last-handled-configuration"].(string), `"value"`, `"two"`, 1),
		}
	}},
	"begins-the-next": {again: true, act: func(annotations tree) tree {
		begun := wireText(tree{"started": pythonTime(time.Now()), "purpose": "update", "retries": 0, "success": false, "failure": false})
		return tree{
			"kopf.zalando.org/update": begun, "kopf.zalando.org/other": begun,
			"kopf.zalando.org/last-handled-configuration": strings.Replace(annotations["kopf.zalando.org/last-handled-configuration"].(string), `"value"`, `"two"`, 1),
		}
	}},
}

func pythonTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

func wireText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// progressAs returns a progress record with some changes.
func progressAs(annotations tree, id string, changes tree) string {
	record := maps.Clone(progressOf(annotations, "kopf.zalando.org/"+id))
	maps.Copy(record, changes)
	return wireText(record)
}

// TestStep_PythonHandlesInBetween leaves an object at each state of a handling with three steps, calls an action of Kopf for Python for
// it, and continues with another operator.
func TestStep_PythonHandlesInBetween(t *testing.T) {
	cluster, o := newCluster(t), &outside{}
	names := []string{"bucket", "grant", "notify"}
	var second atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(ctx context.Context, c *change) error {
			left := len(names)
			if !second.Load() {
				left = int(c.Name[1] - '0') // the steps until the first operator ends
			}
			for _, name := range names[:left] {
				_, err := kopf.Step(ctx, c, name, func(_ context.Context, key kopf.StepKey) (string, error) { return o.do(c.Name+"/"+name, key), nil })
				if err != nil {
					return err
				}
			}
			if !second.Load() {
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			return nil
		}, kopf.ID("update"))
		kopf.OnUpdate(r, kexes, func(context.Context, *change) error {
			if !second.Load() {
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			return nil
		}, kopf.ID("other"))
	})
	objects := map[string]*kopftest.Object{}
	for action := range pythonic {
		for left := range len(names) + 1 {
			name := fmt.Sprintf("s%d-%s", left, action)
			objects[name] = cluster.Create(example(name))
		}
	}
	for _, x := range objects {
		waitHandled(x)
		x.Patch(field("two"))
	}
	for name, x := range objects {
		cluster.WaitUntil(name+" waits for both handlers", func() bool {
			annotations, _ := x.Get().Get("metadata.annotations").(tree)
			return progressOf(annotations, "kopf.zalando.org/update")["delayed"] != nil && progressOf(annotations, "kopf.zalando.org/other")["delayed"] != nil
		})
	}
	op.Stop()
	first := o.keysByName()
	for name, x := range objects {
		annotations, _ := x.Get().Get("metadata.annotations").(tree)
		patch := tree{"metadata": tree{"annotations": pythonic[name[3:]].act(annotations)}}
		if pythonic[name[3:]].again {
			patch["spec"] = tree{"field": "three"}
		}
		x.Patch(patch)
	}
	second.Store(true)
	op.Start()
	for name, x := range objects {
		left := waitHandled(x)
		action, recorded := pythonic[name[3:]], int(name[1]-'0')
		if steps, _ := left.Get("metadata.annotations").(tree)["kopf.zalando.org/handler-steps.update"].(string); strings.Contains(steps, "result") {
			t.Errorf("%s: the results stay: %s", name, steps)
		}
		now := o.keysByName()
		for i, step := range names {
			before, all := first[name+"/"+step], now[name+"/"+step]
			want := 1
			switch {
			case action.again && i < recorded:
				want = 2
			case action.done && i >= recorded:
				want = 0
			}
			if len(all) != want || !slices.Equal(before, all[:len(before)]) || len(slices.Compact(slices.Sorted(slices.Values(all)))) != want {
				t.Errorf("%s: step %s had the keys %q before, and has %q; want %d calls, each with a key of its own", name, step, before, all, want)
			}
		}
	}
}
